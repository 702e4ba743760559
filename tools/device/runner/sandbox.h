// What the process gives up before foreign code is loaded: descriptors, limits, and the system calls that reach outside.
#pragma once

#include <dirent.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <signal.h>
#include <errno.h>
#include <unistd.h>

#include <vector>

namespace sandbox {

// Close every descriptor above stderr except `keep`. The listing's own descriptor closes itself.
inline void close_descriptors(int keep) {
  DIR* folder = opendir("/proc/self/fd");
  if (!folder) return;
  std::vector<int> open;
  while (dirent* entry = readdir(folder)) {
    int fd = atoi(entry->d_name);
    if (fd > 2 && fd != keep && fd != dirfd(folder)) open.push_back(fd);
  }
  closedir(folder);
  for (int fd : open) close(fd);
}

inline void limit(int resource, rlim_t value) {
  rlimit limits;
  if (getrlimit(static_cast<__rlimit_resource_t>(resource), &limits) != 0) return;
  if (limits.rlim_max != RLIM_INFINITY && value > limits.rlim_max) value = limits.rlim_max;
  limits.rlim_cur = limits.rlim_max = value;
  setrlimit(static_cast<__rlimit_resource_t>(resource), &limits);
}

inline int threads() {
  int count = -2;  // without . and ..
  if (DIR* folder = opendir("/proc/self/task")) {
    while (readdir(folder)) ++count;
    closedir(folder);
  }
  return count;
}

#if defined(__x86_64__)
#define SANDBOX_ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define SANDBOX_ARCH AUDIT_ARCH_AARCH64
#endif

// Refuse new processes, programs, sockets, signals to others and ways to look into other processes; threads stay
// possible (the CUDA driver starts some). Returns true if the kernel took the filter.
inline bool forbid_system_calls() {
#ifndef SANDBOX_ARCH
  return false;
#else
  std::vector<sock_filter> code;
  auto load = [&](size_t offset) {
    code.push_back(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, static_cast<unsigned>(offset)));
  };
  auto answer = [&](unsigned value) { code.push_back(BPF_STMT(BPF_RET | BPF_K, value)); };
  auto refuse = [&](long number, int error) {
    code.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<unsigned>(number), 0, 1));
    answer(SECCOMP_RET_ERRNO | static_cast<unsigned>(error));
  };
  load(offsetof(seccomp_data, arch));
  code.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SANDBOX_ARCH, 1, 0));
  answer(SECCOMP_RET_KILL_PROCESS);
  load(offsetof(seccomp_data, nr));
#if defined(__x86_64__)
  // The x32 numbers would go round the list below.
  code.push_back(BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, 0x40000000u, 0, 1));
  answer(SECCOMP_RET_ERRNO | ENOSYS);
  refuse(SYS_fork, EPERM);
  refuse(SYS_vfork, EPERM);
#endif
  // The C library falls back from clone3, whose flags a filter can't read, to clone.
  refuse(SYS_clone3, ENOSYS);
  for (long number : {SYS_execve, SYS_execveat, SYS_socket, SYS_socketpair, SYS_connect, SYS_bind, SYS_ptrace, SYS_process_vm_readv,
                      SYS_process_vm_writev, SYS_pidfd_open, SYS_pidfd_getfd, SYS_pidfd_send_signal, SYS_unshare,
                      SYS_setns, SYS_mount, SYS_umount2, SYS_pivot_root, SYS_chroot, SYS_bpf, SYS_perf_event_open,
                      SYS_io_uring_setup, SYS_setsid, SYS_setpgid, SYS_init_module, SYS_finit_module, SYS_kexec_load,
                      SYS_reboot, SYS_swapon, SYS_swapoff, SYS_settimeofday, SYS_clock_settime, SYS_keyctl})
    refuse(number, EPERM);
  // clone may only make threads.
  code.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 0, 4));
  load(offsetof(seccomp_data, args[0]));
  code.push_back(BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, CLONE_THREAD, 0, 1));
  answer(SECCOMP_RET_ALLOW);
  answer(SECCOMP_RET_ERRNO | EPERM);
  // A signal may only go to this process.
  for (long number : {SYS_kill, SYS_tkill, SYS_tgkill}) {
    code.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<unsigned>(number), 0, 4));
    load(offsetof(seccomp_data, args[0]));
    code.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<unsigned>(getpid()), 0, 1));
    answer(SECCOMP_RET_ALLOW);
    answer(SECCOMP_RET_ERRNO | EPERM);
  }
  answer(SECCOMP_RET_ALLOW);
  sock_fprog program = {static_cast<unsigned short>(code.size()), code.data()};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return false;
  return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program) == 0;
#endif
}

// Refuse to make memory executable: after the libraries are loaded nobody has new code, nor changes what is there.
inline bool forbid_new_code() {
  std::vector<sock_filter> code;
  auto load = [&](size_t offset) {
    code.push_back(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, static_cast<unsigned>(offset)));
  };
  for (long number : {SYS_mmap, SYS_mprotect, SYS_pkey_mprotect}) {
    load(offsetof(seccomp_data, nr));
    code.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<unsigned>(number), 0, 3));
    load(offsetof(seccomp_data, args[2]));
    code.push_back(BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, PROT_EXEC, 0, 1));
    code.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM));
  }
  code.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
  sock_fprog program = {static_cast<unsigned short>(code.size()), code.data()};
  return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program) == 0;
}

}  // namespace sandbox
