// Namespaces of its own for the process that loads foreign code: no other process, no network, no writable file but its
// own folder's, and nothing of the folders to hide. The kernel may refuse all or part of it; then `Isolation` says so.
#pragma once

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>
#include <vector>

namespace sandbox {

struct Isolation {
  bool user = false, pid = false, network = false, read_only = false, processes_hidden = false;
  std::string refused;  // what the kernel did not allow, and why
};

inline bool write_text(const char* path, const std::string& text) {
  int fd = open(path, O_WRONLY | O_CLOEXEC);
  bool ok = fd >= 0 && write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  if (fd >= 0) close(fd);
  return ok;
}

// Make all mounts read-only (`set`), or this one writable again. An old kernel lacks the call.
inline bool change_mount(const char* path, bool recursive, bool set) {
#ifdef SYS_mount_setattr
  struct { unsigned long long set, clear, propagation, userns; } attributes = {set ? 1ull : 0, set ? 0 : 1ull, 0, 0};
  return syscall(SYS_mount_setattr, AT_FDCWD, path, recursive ? 0x8000 : 0, &attributes, sizeof attributes) == 0;
#else
  (void)path, (void)recursive, (void)set;
  errno = ENOSYS;
  return false;
#endif
}

// All files read-only but those of `folder`; empty folders over those to hide. Mounts that others make don't come in.
inline bool enclose_files(const std::string& folder, const std::vector<std::string>& hide) {
  if (mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) return false;
  for (const std::string& path : hide)
    if (mount("tmpfs", path.c_str(), "tmpfs", MS_NOSUID | MS_NODEV | MS_RDONLY, "size=4k") != 0 && errno != ENOENT) return false;
  return mount(folder.c_str(), folder.c_str(), nullptr, MS_BIND, nullptr) == 0 && change_mount("/", true, true) &&
         change_mount(folder.c_str(), false, false) && chdir(folder.c_str()) == 0;
}

inline void drop_capabilities() {
  __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct none[2] = {};
  for (int capability = 0; prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) == 0; ++capability) {
  }
  syscall(SYS_capset, &header, none);
}

// Wait for a child and end as it did.
[[noreturn]] inline void end_like(pid_t child) {
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  int code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  int killed_by = code - 128;
  // The first process of a namespace can't end by a signal: it hands on the number, and its parent ends by it.
  if (getpid() != 1 && killed_by > 0 && killed_by < 32) {
    rlimit none = {0, 0};
    setrlimit(RLIMIT_CORE, &none);
    signal(killed_by, SIG_DFL);
    kill(getpid(), killed_by);
  }
  _exit(code);
}

// Go on in new namespaces, as a grandchild: its parent is their first process, with which all others there end, and
// the process that the driver started waits for that one. `control` stays open in the grandchild alone.
inline Isolation isolate(int control, const std::string& folder, const std::vector<std::string>& hide) {
  Isolation now;
  uid_t uid = geteuid();
  gid_t gid = getegid();
  auto refused = [&](const char* what) { now.refused += (now.refused.empty() ? "" : "; ") + std::string(what) + ": " + strerror(errno); };
  if (unshare(CLONE_NEWUSER) != 0) return refused("no user namespace"), now;
  std::string user = std::to_string(uid), group = std::to_string(gid);
  now.user = write_text("/proc/self/setgroups", "deny") && write_text("/proc/self/uid_map", user + " " + user + " 1") &&
             write_text("/proc/self/gid_map", group + " " + group + " 1");
  if (!now.user) refused("no user mapping");
  now.network = unshare(CLONE_NEWNET | CLONE_NEWIPC) == 0;
  if (!now.network) refused("no network namespace");
  now.read_only = unshare(CLONE_NEWNS) == 0 && enclose_files(folder, hide);
  if (!now.read_only) refused("files are not read-only");
  now.pid = unshare(CLONE_NEWPID) == 0;
  if (!now.pid) refused("no pid namespace");
  if (!now.pid) return drop_capabilities(), now;
  pid_t first = fork();
  if (first < 0) _exit(6);
  if (first) {
    close(control);
    end_like(first);
  }
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  now.processes_hidden = now.read_only && mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, nullptr) == 0;
  if (!now.processes_hidden) refused("other processes stay visible in /proc");
  pid_t runner = fork();
  if (runner < 0) _exit(6);
  if (runner) {
    close(control);
    end_like(runner);
  }
  drop_capabilities();
  return now;
}

}  // namespace sandbox
