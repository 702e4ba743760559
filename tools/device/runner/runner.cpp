// The host program of one evaluation: loads one candidate library, feeds it cases, and brings back what it left behind.
//
// Written against the CUDA runtime API alone, so that it builds with g++ for a GPU and for the cpu device.
// It knows no expected value and gives no verdict. Commands come as lines on one socket; each answer is a line that
// begins with a nonce which the driver sent after the library was loaded. Bulk data pass through files in a private folder:
//   guard.bin      random bytes around every buffer       positions.bin  which elements to return of a huge output
//   outputs.bin    what comes back (sized by the driver, and only ever made larger)
// The arrays of a case come as a descriptor of a sealed file, sent along with a command that reads them and closed at its
// end: the candidate never sees it. They are read, not mapped, since large files are slow to unmap.
//
// SOCKET is a descriptor, or the path of a listening socket (a tool that starts us may not pass descriptors on).
//   runner SOCKET FOLDER GLUE LIBRARY ENTRY  cpu_s=N file_bytes=N memory_bytes=N data_bytes=N (0: no limit) trusted_tool=0|1 hide=PATH…
#include <cuda_runtime.h>

#include <dlfcn.h>
#include <fcntl.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <random>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "isolation.h"
#include "sandbox.h"
#ifdef WITH_TIMING
#include "timing.h"
#endif

namespace {

// One argument by value; the glue library knows which member the entry's prototype wants.
union Value {
  void* pointer;
  int integer;
  float real;
};
using GlueCall = int (*)(void* entry, const Value* values, void* workspace, size_t workspace_bytes, void* stream);
using GlueWorkspace = size_t (*)(void* entry, const Value* values);

struct Buffer {
  char* base = nullptr;      // start of the allocation: guard, data, guard
  size_t bytes = 0;          // of the data
  size_t input_offset = 0;   // in the file of inputs
  bool reads = false, writes = false;
  size_t turn_bytes = 0;     // the values may be turned by multiples of it; 0: each has its place
  char* pristine = nullptr;  // device copy of the input, where a call or a timed one needs it again
};

struct Mapping {
  char* data = nullptr;
  size_t bytes = 0;
  // Map a file, or keep it mapped if it is as large as it was.
  bool open(const std::string& path, bool writable) {
    int fd = ::open(path.c_str(), (writable ? O_RDWR : O_RDONLY) | O_CLOEXEC);
    struct stat info;
    if (fd < 0 || fstat(fd, &info) != 0) return false;
    size_t now = static_cast<size_t>(info.st_size);
    if (data && bytes == now) return ::close(fd), true;
    close();
    bytes = now;
    if (bytes) {
      void* address = mmap(nullptr, bytes, PROT_READ | (writable ? PROT_WRITE : 0), MAP_SHARED, fd, 0);
      data = address == MAP_FAILED ? nullptr : static_cast<char*>(address);
    }
    ::close(fd);
    return bytes == 0 || data;
  }
  void close() {
    if (data) munmap(data, bytes);
    data = nullptr;
    bytes = 0;
  }
};

int control = -1;
int inputs = -1;  // came with this command
std::string folder, nonce;
void *entry = nullptr, *workspace_entry = nullptr, *library = nullptr;
GlueCall glue_call = nullptr;
GlueWorkspace glue_workspace = nullptr;
int (*candidate_last_error)() = nullptr;

std::vector<char> guard;
std::vector<Value> values;
std::vector<Buffer> buffers;          // one per array argument that is not null, in order
std::vector<int> value_of_buffer;
Buffer workspace;
Mapping outputs;  // stays mapped: new pages of a file cost ten times what the copy does
cudaStream_t stream = nullptr;
int last_poison = 0xFF;
double call_queue_us = -1;  // host time to queue one call of this case; negative: not known yet
bool trusted_tool = false;  // a profiler or sanitizer watches: it needs its sockets and children, and one plain call

double now_us() {
  timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * 1e6 + time.tv_nsec * 1e-3;
}

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (unsigned char c : text) {
    if (c == '"' || c == '\\') (out += '\\') += static_cast<char>(c);
    else if (c < 0x20 || c > 0x7e) out += '?';
    else out += static_cast<char>(c);
  }
  return out + '"';
}

void send(const std::string& json) {
  std::string line = nonce + ' ' + json + '\n';
  for (size_t sent = 0; sent < line.size();) {
    ssize_t n = write(control, line.data() + sent, line.size() - sent);
    if (n <= 0) _exit(3);
    sent += static_cast<size_t>(n);
  }
}

// A fault of the machine or of this program, not of the candidate.
[[noreturn]] void give_up(const std::string& what) {
  send("{\"fatal\": " + quoted(what) + "}");
  _exit(4);
}

std::string describe(int code) {
  auto error = static_cast<cudaError_t>(code);
  return std::string(cudaGetErrorName(error)) + ": " + cudaGetErrorString(error);
}

void check(cudaError_t code, const char* what) {
  if (code != cudaSuccess) give_up(std::string(what) + ": " + describe(code));
}

char* data(const Buffer& b) { return b.base + guard.size(); }

bool allocate(Buffer& b) { return cudaMalloc(reinterpret_cast<void**>(&b.base), b.bytes + 2 * guard.size() + !b.bytes) == cudaSuccess; }

void release(Buffer& b) {
  if (b.base) cudaFree(b.base);
  if (b.pristine) cudaFree(b.pristine);
  b.base = b.pristine = nullptr;
}

// Each buffer has guard bands of its own: else a kernel that copies one element too many would copy guard to guard.
void write_guards(const Buffer& b, size_t index) {
  if (guard.empty() || !b.base) return;
  std::vector<char> own = guard;
  for (char& byte : own) byte = static_cast<char>(byte ^ (37 * (index + 1)));
  check(cudaMemcpy(b.base, own.data(), own.size(), cudaMemcpyHostToDevice), "writing a guard band");
  check(cudaMemcpy(data(b) + b.bytes, own.data(), own.size(), cudaMemcpyHostToDevice), "writing a guard band");
}

// A thread's own memory and stream.
struct Lane {
  char* stage = nullptr;     // pinned
  std::vector<char> before;  // of the inputs, to compare with
  cudaStream_t stream = nullptr;
};
constexpr size_t kPiece = size_t{1} << 20;  // pinning more takes longer than what it saves
#ifdef WITH_TIMING
constexpr size_t kLanes = 6;
#else
constexpr size_t kLanes = 1;  // the cpu device copies as fast as memory allows
#endif

// Call work(lane, at, n) for all pieces of so many bytes, in threads where there are several pieces.
template <class Work>
void in_lanes(size_t bytes, Work work) {
  static Lane lanes[kLanes];
  std::atomic<size_t> next{0};
  auto run = [&](Lane& lane) {
    if (!lane.stage) {
      check(cudaHostAlloc(reinterpret_cast<void**>(&lane.stage), kPiece, 0), "allocating a host stage");
      check(cudaStreamCreateWithFlags(&lane.stream, cudaStreamNonBlocking), "making a stream");
    }
    for (size_t at; (at = next.fetch_add(kPiece)) < bytes;) work(lane, at, bytes - at < kPiece ? bytes - at : kPiece);
  };
  std::vector<std::thread> others;
  int before = bytes > kPiece ? sandbox::threads() : 0;
  for (size_t i = 1; i < kLanes && i * kPiece < bytes; ++i) others.emplace_back(run, std::ref(lanes[i]));
  if (bytes) run(lanes[0]);
  for (std::thread& thread : others) thread.join();
  // A thread that was waited for may be listed for a moment yet, and would be taken for the candidate's.
  for (int i = 0; i < 100 && !others.empty() && sandbox::threads() > before; ++i) usleep(50);
}

void close_inputs() {
  if (inputs >= 0) close(inputs);
  inputs = -1;
}

void read_input(const Buffer& b, size_t at, size_t n, char* to) {
  for (size_t done = 0; done < n;) {
    ssize_t got = pread(inputs, to + done, n - done, static_cast<off_t>(b.input_offset + at + done));
    if (got <= 0) give_up("cannot read the inputs");
    done += static_cast<size_t>(got);
  }
}

// Copy an input of the case to `to` on the device: the file's pages are not pinned, so a plain copy would be slow.
void send_input(const Buffer& b, char* to) {
  in_lanes(b.bytes, [&](Lane& lane, size_t at, size_t n) {
    read_input(b, at, n, lane.stage);
    check(cudaMemcpyAsync(to + at, lane.stage, n, cudaMemcpyHostToDevice, lane.stream), "copying an input");
    check(cudaStreamSynchronize(lane.stream), "copying an input");
  });
}

// case REUSE WORKSPACE_LIMIT (in|inout|out:BYTES:INPUT_OFFSET:TURN_BYTES | null | int:VALUE | float:VALUE)...
void load_case(std::istringstream& line) {
  int reuse = 0;
  size_t limit = 0;
  line >> reuse >> limit;
  std::vector<Buffer> next;
  std::vector<Value> next_values;
  std::vector<int> next_value_of_buffer;
  for (std::string token; line >> token;) {
    std::string kind = token.substr(0, token.find(':')), rest = token.substr(token.find(':') + 1);
    Value value;
    memset(&value, 0, sizeof value);
    if (kind == "int") value.integer = static_cast<int>(strtol(rest.c_str(), nullptr, 10));
    else if (kind == "float") value.real = strtof(rest.c_str(), nullptr);
    else if (kind != "null") {
      Buffer b;
      b.reads = kind != "out";
      b.writes = kind != "in";
      char* end = nullptr;
      b.bytes = strtoull(rest.c_str(), &end, 10);
      b.input_offset = strtoull(end + 1, &end, 10);
      b.turn_bytes = strtoull(end + 1, nullptr, 10);
      next_value_of_buffer.push_back(static_cast<int>(next_values.size()));
      next.push_back(b);
    }
    next_values.push_back(value);
  }
  bool same = reuse && next.size() == buffers.size();
  for (size_t i = 0; same && i < next.size(); ++i) same = next[i].bytes == buffers[i].bytes;
  for (size_t i = 0; i < next.size(); ++i) {
    if (same) {
      next[i].base = buffers[i].base;
      next[i].pristine = buffers[i].pristine;
      buffers[i].base = buffers[i].pristine = nullptr;
    } else if (!allocate(next[i])) {
      cudaGetLastError();
      return send("{\"no_memory\": " + std::to_string(next[i].bytes) + "}");
    }
  }
  // The old buffers go only now, so that new ones can't have their addresses.
  for (Buffer& b : buffers) release(b);
  call_queue_us = -1;
  Buffer old_workspace = workspace;
  workspace = Buffer();
  buffers = next;
  values = next_values;
  value_of_buffer = next_value_of_buffer;
  for (size_t i = 0; i < buffers.size(); ++i) {
    Buffer& b = buffers[i];
    values[value_of_buffer[i]].pointer = data(b);
    if (b.reads) send_input(b, data(b));
    if (b.reads && b.writes && !b.pristine && cudaMalloc(reinterpret_cast<void**>(&b.pristine), b.bytes + !b.bytes) != cudaSuccess) {
      cudaGetLastError();
      release(old_workspace);
      return send("{\"no_memory\": " + std::to_string(b.bytes) + "}");
    }
    if (b.pristine) check(cudaMemcpy(b.pristine, data(b), b.bytes, cudaMemcpyDeviceToDevice), "copying an input");
  }
  check(cudaDeviceSynchronize(), "copying the inputs");
  close_inputs();  // what comes next is the candidate's code
  workspace.bytes = glue_workspace(workspace_entry, values.data());
  bool fits = workspace.bytes <= limit;
  if (fits && old_workspace.base && old_workspace.bytes == workspace.bytes && reuse) {
    workspace = old_workspace;
    old_workspace = Buffer();
  } else if (fits && workspace.bytes) {
    fits = allocate(workspace);
  }
  release(old_workspace);
  cudaGetLastError();
  send("{\"workspace_bytes\": " + std::to_string(workspace.bytes) + ", \"fits\": " + (fits ? "true" : "false") + ", \"threads\": " + std::to_string(sandbox::threads()) + "}");
}

void poison(int byte) {
  if (byte < 0) return;  // a sanitizer looks for reads of memory that nobody wrote
  last_poison = byte;
  for (Buffer& b : buffers)
    if (b.writes && !b.reads && b.bytes) check(cudaMemsetAsync(data(b), byte, b.bytes, stream), "poisoning an output");
  if (workspace.base) check(cudaMemsetAsync(data(workspace), byte, workspace.bytes, stream), "poisoning the workspace");
}

struct Outcome {
  int entry_code = 0, last_code = 0, sync_code = 0;
  double wall_us = 0, beyond_stream_us = 0;
  long long kept_bytes = 0;  // device memory that the call allocated and did not free
};

int call_entry() {
  return glue_call(entry, values.data(), workspace.base ? data(workspace) : nullptr, workspace.bytes, stream);
}

int last_error() { return candidate_last_error ? candidate_last_error() : static_cast<int>(cudaGetLastError()); }

Outcome call_once(int poison_byte) {
  for (Buffer& b : buffers) {
    write_guards(b, static_cast<size_t>(&b - buffers.data()));
    if (b.reads && b.writes) check(cudaMemcpyAsync(data(b), b.pristine, b.bytes, cudaMemcpyDeviceToDevice, stream), "restoring an array");
  }
  write_guards(workspace, buffers.size());
  check(cudaDeviceSynchronize(), "preparing a call");
  size_t free_before = 0, free_after = 0, total = 0;
  cudaMemGetInfo(&free_before, &total);
#ifdef WITH_TIMING
  // The given stream does not block others, and outputs are poisoned behind a pause on it: what a candidate launches on
  // another stream runs before the poison and is wiped out.
  static bool first = true;
  if (!trusted_tool) hold_stream(stream, first ? 2000 : 200);  // the first launch takes long
  first = false;
#endif
  poison(poison_byte);
  if (trusted_tool) check(cudaDeviceSynchronize(), "preparing a call");
  Outcome o;
  double start = now_us();
  o.entry_code = call_entry();
  double queued = now_us();
  o.sync_code = static_cast<int>(cudaStreamSynchronize(stream));
  double end = now_us();
  if (end - queued > 1000) call_queue_us = queued - start;  // long calls are not made again only to know this
  int device_code = static_cast<int>(cudaDeviceSynchronize());
  if (!o.sync_code) o.sync_code = device_code;
  o.beyond_stream_us = now_us() - end;
  o.wall_us = end - start;
  if (!o.sync_code && cudaMemGetInfo(&free_after, &total) == cudaSuccess && free_after < free_before) o.kept_bytes = static_cast<long long>(free_before - free_after);
  o.last_code = last_error();
  return o;
}

// Call once; again, at most twice, if work seems to go on beyond the stream: the host may just have been busy elsewhere.
Outcome checked_call(int poison_byte) {
  Outcome o = call_once(poison_byte);
  for (int i = 0; i < 2 && o.beyond_stream_us > 50 && !o.sync_code && !o.entry_code && !o.last_code && !trusted_tool; ++i) {
    double before = o.beyond_stream_us;
    o = call_once(poison_byte);
    if (before < o.beyond_stream_us) o.beyond_stream_us = before;
  }
  return o;
}

std::string outcome_json(const Outcome& o) {
  int code = o.sync_code ? o.sync_code : o.entry_code ? o.entry_code : o.last_code;
  std::ostringstream out;
  out << "\"entry\": " << o.entry_code << ", \"last\": " << o.last_code << ", \"sync\": " << o.sync_code
      << ", \"error\": " << quoted(code ? describe(code) : "") << ", \"wall_us\": " << o.wall_us
      << ", \"beyond_stream_us\": " << o.beyond_stream_us << ", \"threads\": " << sandbox::threads() << ", \"kept_bytes\": " << o.kept_bytes;
  return out.str();
}

// Visit a buffer's data on the host in pieces, in any order and in several threads at once.
template <class Visit>
void visit(const Buffer& b, Visit see) {
  in_lanes(b.bytes, [&](Lane& lane, size_t at, size_t n) {
    check(cudaMemcpyAsync(lane.stage, data(b) + at, n, cudaMemcpyDeviceToHost, lane.stream), "copying an array back");
    check(cudaStreamSynchronize(lane.stream), "copying an array back");
    see(lane, at, n);
  });
}

// How many items of a piece hold the fill pattern in all their bytes.
template <class Item>
size_t count_filled(const char* piece, size_t bytes) {
  Item pattern;
  memset(&pattern, last_poison, sizeof pattern);
  size_t count = 0;
  for (size_t i = 0; i < bytes / sizeof pattern; ++i) count += reinterpret_cast<const Item*>(piece)[i] == pattern;
  return count;
}

// Where the first byte differs from the input of the case; its size if none does.
size_t first_change(const Buffer& b) {
  std::atomic<size_t> first{b.bytes};
  visit(b, [&](Lane& lane, size_t at, size_t n) {
    lane.before.resize(kPiece);
    read_input(b, at, n, lane.before.data());
    if (at > first || memcmp(lane.stage, lane.before.data(), n) == 0) return;
    size_t i = 0;
    while (lane.stage[i] == lane.before[i]) ++i;
    for (size_t seen = first; at + i < seen && !first.compare_exchange_weak(seen, at + i);) {
    }
  });
  return first;
}

// collect GUARDS_OFFSET and for each buffer wanted
//   BUFFER:compare | BUFFER:whole:OFFSET:ITEMSIZE | BUFFER:sample:OFFSET:ITEMSIZE:COUNT:POSITIONS_OFFSET | BUFFER:pick:… as sample
// Guard bands go to GUARDS_OFFSET, before and after each buffer, the workspace last; with -1 nobody looks at them.
// Of a sample all elements are looked at, to count those that hold the fill pattern; `pick` brings the sample alone.
std::string collect(std::istringstream& line) {
  if (!outputs.open(folder + "/outputs.bin", true)) give_up("cannot map outputs.bin");
  long long guards_offset = 0;
  line >> guards_offset;
  std::string changed, unwritten;
  auto note = [](std::string& list, size_t index, size_t value) {
    list += (list.empty() ? "\"" : ", \"") + std::to_string(index) + "\": " + std::to_string(value);
  };
  for (std::string token; line >> token;) {
    for (char& c : token)
      if (c == ':') c = ' ';
    std::istringstream fields(token);
    size_t index = 0, offset = 0, itemsize = 4, count = 0, positions_offset = 0;
    std::string what;
    fields >> index >> what >> offset >> itemsize >> count >> positions_offset;
    if (index >= buffers.size()) give_up("no buffer " + std::to_string(index));
    const Buffer& b = buffers[index];
    if (what == "compare") {
      size_t first = first_change(b);
      if (first < b.bytes) note(changed, index, first);
      continue;
    }
    bool whole = what == "whole";
    if (offset + (whole ? b.bytes : count * itemsize) > outputs.bytes) give_up("outputs.bin is too small");
    char* to = outputs.data + offset;
    Mapping wanted;
    if (!whole && !wanted.open(folder + "/positions.bin", false)) give_up("cannot map positions.bin");
    if (positions_offset + count * 8 > wanted.bytes) give_up("positions.bin is too small");
    const auto* position = reinterpret_cast<const int64_t*>(wanted.data + positions_offset);  // ascending
#ifdef WITH_TIMING
    if (what == "pick") {
      check(gather(data(b), position, count, itemsize, to, stream), "picking elements");
      wanted.close();
      continue;
    }
#endif
    std::atomic<size_t> untouched{0};
    visit(b, [&](Lane& lane, size_t at, size_t n) {
      const char* piece = lane.stage;
      untouched += itemsize == 4 ? count_filled<uint32_t>(piece, n) : count_filled<uint16_t>(piece, n);
      if (whole) memcpy(to + at, piece, n);
      const int64_t* end = position + count;
      for (const int64_t* p = std::lower_bound(position, end, at / itemsize); p < end && *p * itemsize < at + n; ++p)
        memcpy(to + (p - position) * itemsize, piece + (*p * itemsize - at), itemsize);
    });
    note(unwritten, index, untouched);
    wanted.close();
  }
  auto bring_guards = [&](const Buffer& b) {
    if (guard.empty() || !b.base || guards_offset < 0) return;
    char* to = outputs.data + guards_offset;
    if (guards_offset + 2 * guard.size() > outputs.bytes) give_up("outputs.bin is too small");
    check(cudaMemcpy(to, b.base, guard.size(), cudaMemcpyDeviceToHost), "reading a guard band");
    check(cudaMemcpy(to + guard.size(), data(b) + b.bytes, guard.size(), cudaMemcpyDeviceToHost), "reading a guard band");
    guards_offset += 2 * static_cast<long long>(guard.size());
  };
  for (const Buffer& b : buffers) bring_guards(b);
  bring_guards(workspace);
  return "\"changed\": {" + changed + "}, \"unwritten\": {" + unwritten + "}";
}

// repeat COUNT POISON: a hash of all outputs per call.
void repeat(std::istringstream& line) {
  int count = 0, byte = 0;
  line >> count >> byte;
  std::string hashes;
  Outcome o;
  for (int i = 0; i < count; ++i) {
    o = call_once(byte);
    if (o.sync_code || o.entry_code || o.last_code) break;
    std::atomic<uint64_t> sum{0};  // of the pieces' hashes, each mixed with its place: they come in any order
    for (const Buffer& b : buffers) {
      if (!b.writes) continue;
      visit(b, [&](Lane& lane, size_t at, size_t n) {
        const char* piece = lane.stage;
        uint64_t word, hash = 0xcbf29ce484222325ull ^ at ^ (static_cast<uint64_t>(&b - buffers.data()) << 56);
        size_t j = 0;
        for (; j + 8 <= n; j += 8) {
          memcpy(&word, piece + j, 8);
          hash = (hash ^ word) * 0x9E3779B97F4A7C15ull;
          hash ^= hash >> 29;
        }
        for (; j < n; ++j) hash = (hash ^ static_cast<unsigned char>(piece[j])) * 0x100000001b3ull;
        sum += hash * 0x9E3779B97F4A7C15ull;
      });
    }
    char text[20];
    snprintf(text, sizeof text, "\"%016llx\"", static_cast<unsigned long long>(sum));
    hashes += (i ? ", " : "") + std::string(text);
  }
  send("{" + outcome_json(o) + ", \"hashes\": [" + hashes + "]}");
}

// Copy the inputs back. `part` 0: the case's own data. Else other data from the same distribution: the values turned by
// that part of each array, and another quarter of them in place of the first, so that a sum is another, too. Large arrays
// move by multiples of 256 bytes, which are copied as fast as any.
void restore_inputs(double part, bool outputs_too) {
  for (Buffer& b : buffers) {
    if (!b.pristine || (b.writes && !outputs_too)) continue;
    auto copy = [&](size_t to, size_t from, size_t bytes) {
      if (bytes) check(cudaMemcpyAsync(data(b) + to, b.pristine + from, bytes, cudaMemcpyDeviceToDevice, stream), "restoring an array");
    };
    size_t step = b.bytes > 65536 ? 256 : b.turn_bytes;
    auto place = [&](double share, size_t room) { return static_cast<size_t>(share * static_cast<double>(room / step)) * step; };
    size_t at = b.turn_bytes ? place(part, b.bytes) : 0;
    copy(0, at, b.bytes - at);
    copy(b.bytes - at, 0, at);
    if (!at) continue;
    size_t quarter = b.bytes / 4 / step * step;
    copy(0, place(part * 97 - static_cast<int>(part * 97), b.bytes - quarter), quarter);
  }
}

// keep: copies of the inputs on the device, from which timed calls get theirs back. Not part of what is timed.
void keep_inputs() {
  for (Buffer& b : buffers) {
    if (!b.reads || !b.bytes || b.pristine || !b.turn_bytes) continue;
    bool there = cudaMalloc(reinterpret_cast<void**>(&b.pristine), b.bytes) == cudaSuccess;
    if (!there) b.pristine = nullptr, cudaGetLastError();  // its values stay in their places
    else check(cudaMemcpy(b.pristine, data(b), b.bytes, cudaMemcpyDeviceToDevice), "copying an array");
  }
  // A copy within the device is not waited for, and our stream waits for no other.
  check(cudaDeviceSynchronize(), "copying the inputs");
  send("{}");
}

// time cold|warm|empty REPETITIONS WALLS PART
// PART of a turn of the inputs for all calls, see above; negative: another one for each call.
void time_calls(std::istringstream& line) {
#ifdef WITH_TIMING
  std::string method;
  int repetitions = 0, walls = 0;
  double part = 0;
  line >> method >> repetitions >> walls >> part;
  static std::mt19937_64 random{std::random_device{}()};
  auto prepare = [&] {
    poison(0xFF);
    restore_inputs(part < 0 ? std::uniform_real_distribution<double>(0, 1)(random) : part, true);
  };
  Outcome o;
  auto call = [&] {
    o.entry_code = method == "empty" ? launch_empty(stream) : call_entry();
    return o.entry_code;
  };
  static double empty_queue_us = -1;
  double& queue_us = method == "empty" ? empty_queue_us : call_queue_us;
  Samples samples = measure(method != "warm", repetitions, walls, stream, prepare, call, queue_us);
  o.sync_code = static_cast<int>(cudaDeviceSynchronize());
  o.last_code = last_error();
  if (!o.sync_code) {
    restore_inputs(0, false);
    check(cudaStreamSynchronize(stream), "restoring the inputs");  // what is looked at next is copied on other streams
  }
  if (!samples.error.empty() && !o.sync_code && !o.entry_code) give_up(samples.error);
  std::ostringstream out;
  out << "{" << outcome_json(o) << ", \"queue_us\": " << queue_us << ", \"calls\": " << samples.calls;
  for (auto* list : {&samples.device_us, &samples.wall_us}) {
    out << ", \"" << (list == &samples.device_us ? "device_us" : "wall_us_each") << "\": [";
    for (size_t i = 0; i < list->size(); ++i) out << (i ? ", " : "") << (*list)[i];
    out << "]";
  }
  send(out.str() + "}");
#else
  (void)line;
  send("{\"unsupported\": \"this host program was built without timing\"}");
#endif
}

void* find(const char* name) {
  void* symbol = dlsym(RTLD_DEFAULT, name);
  return symbol ? symbol : dlsym(library, name);
}

// counters reset|get: the cpu device's counters, written to counters.json.
void counters(std::istringstream& line) {
  std::string what;
  line >> what;
  auto reset = reinterpret_cast<void (*)()>(find("cpusim_counters_reset"));
  auto json = reinterpret_cast<const char* (*)()>(find("cpusim_counters_json"));
  if (!reset || !json) return send("{\"unsupported\": \"this device has no counters\"}");
  if (what == "reset") {
    reset();
  } else {
    const char* text = json();
    FILE* file = fopen((folder + "/counters.json").c_str(), "w");
    if (!file || fwrite(text, 1, strlen(text), file) != strlen(text) || fclose(file) != 0) give_up("cannot write counters.json");
  }
  send("{}");
}

// move: the same data at other addresses, since placement in memory changes times a little.
void move() {
  for (Buffer& b : buffers) {
    Buffer next = b;
    if (!allocate(next)) {
      cudaGetLastError();
      break;  // no room for two: stay
    }
    check(cudaMemcpy(next.base, b.base, b.bytes + 2 * guard.size(), cudaMemcpyDeviceToDevice), "moving an array");
    cudaFree(b.base);
    b.base = next.base;
    values[value_of_buffer[&b - buffers.data()]].pointer = data(b);
  }
  check(cudaDeviceSynchronize(), "moving the arrays");
  send("{}");
}

// mem: device memory, resident set, threads and descriptors of this process.
void usage() {
  size_t free_bytes = 0, total_bytes = 0;
  cudaMemGetInfo(&free_bytes, &total_bytes);
  auto entries = [](const char* path) {
    int count = 0;
    if (DIR* listing = opendir(path)) {
      while (readdir(listing)) ++count;
      closedir(listing);
    }
    return count - 2;
  };
  long pages = 0, resident = 0;
  if (FILE* file = fopen("/proc/self/statm", "r")) {
    if (fscanf(file, "%ld %ld", &pages, &resident) != 2) resident = 0;
    fclose(file);
  }
  std::ostringstream out;
  out << "{\"device_free_bytes\": " << free_bytes << ", \"device_total_bytes\": " << total_bytes << ", \"resident_bytes\": "
      << resident * sysconf(_SC_PAGESIZE) << ", \"threads\": " << sandbox::threads() << ", \"descriptors\": "
      << entries("/proc/self/fd") << "}";
  send(out.str());
}

std::string read_line() {
  std::string line;
  for (;;) {
    char c = 0;
    alignas(cmsghdr) char beside[CMSG_SPACE(sizeof(int))];
    iovec piece = {&c, 1};
    msghdr message = {};
    message.msg_iov = &piece;
    message.msg_iovlen = 1;
    message.msg_control = beside;
    message.msg_controllen = sizeof beside;
    if (recvmsg(control, &message, MSG_CMSG_CLOEXEC) != 1) _exit(0);  // the driver is gone
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    if (header && header->cmsg_type == SCM_RIGHTS) memcpy(&inputs, CMSG_DATA(header), sizeof(int));
    if (c == '\n') return line;
    line += c;
  }
}

int connect_to(const char* path) {
  int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  strncpy(address.sun_path, path, sizeof address.sun_path - 1);
  if (fd < 0 || connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) {
    perror(path);
    _exit(2);
  }
  return fd;
}

[[noreturn]] void refuse_library(const std::string& why) {
  send("{\"load_error\": " + quoted(why) + "}");
  _exit(5);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 6) return 2;
  control = argv[1][0] == '/' ? connect_to(argv[1]) : atoi(argv[1]);
  folder = argv[2];
  std::map<std::string, unsigned long long> option;
  std::vector<std::string> hide;
  for (int i = 6; i < argc; ++i) {
    if (strncmp(argv[i], "hide=", 5) == 0) hide.push_back(argv[i] + 5);
    else if (char* equals = strchr(argv[i], '=')) option[std::string(argv[i], equals)] = strtoull(equals + 1, nullptr, 10);
  }
  trusted_tool = option["trusted_tool"];

  sandbox::Isolation isolation;
  if (!trusted_tool) {
    sandbox::close_descriptors(control);
    isolation = sandbox::isolate(control, folder, hide);
  }
  signal(SIGXFSZ, SIG_IGN);  // a log that is full fails to grow; it doesn't kill
  sandbox::limit(RLIMIT_CORE, 0);
  if (option["cpu_s"]) sandbox::limit(RLIMIT_CPU, option["cpu_s"]);
  if (option["memory_bytes"]) sandbox::limit(RLIMIT_AS, option["memory_bytes"]);
  if (option["file_bytes"] && !trusted_tool) sandbox::limit(RLIMIT_FSIZE, option["file_bytes"]);

  // If the driver dies while a call hangs, nobody reads the socket: this thread ends the process.
  std::thread([] {
    pollfd watch = {control, POLLRDHUP, 0};
    while (poll(&watch, 1, -1) < 0 && errno == EINTR) {
    }
    _exit(3);
  }).detach();

  if (FILE* file = fopen((folder + "/guard.bin").c_str(), "r")) {
    char piece[4096];
    for (size_t n; (n = fread(piece, 1, sizeof piece, file)) > 0;) guard.insert(guard.end(), piece, piece + n);
    fclose(file);
  }
  int code = static_cast<int>(cudaSetDevice(0));
  if (!code) code = static_cast<int>(cudaFree(nullptr));
  if (!code) code = static_cast<int>(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  if (code) give_up("no GPU context: " + describe(code));

  void* glue = dlopen(argv[3], RTLD_NOW | RTLD_LOCAL);
  if (!glue) give_up(std::string("cannot load the glue: ") + dlerror());
  glue_call = reinterpret_cast<GlueCall>(dlsym(glue, "glue_call"));
  glue_workspace = reinterpret_cast<GlueWorkspace>(dlsym(glue, "glue_workspace"));
  if (write(control, "ready\n", 6) != 6) _exit(3);
  bool filtered = !trusted_tool && sandbox::forbid_system_calls();
  library = dlopen(argv[4], RTLD_NOW | RTLD_LOCAL);
  filtered = filtered && sandbox::forbid_new_code();
  if (option["data_bytes"] && !trusted_tool) sandbox::limit(RLIMIT_DATA, option["data_bytes"]);
  if (write(control, "loaded\n", 7) != 7) _exit(3);
  nonce = read_line();
  if (!library) refuse_library(dlerror());
  std::string name = argv[5], workspace_name = name + "_workspace_bytes";
  entry = dlsym(library, name.c_str());
  workspace_entry = dlsym(library, workspace_name.c_str());
  if (!entry) refuse_library("the library does not export " + name);
  if (!workspace_entry) refuse_library("the library does not export " + workspace_name);
  candidate_last_error = reinterpret_cast<int (*)()>(dlsym(library, "cudamaster_last_error"));

  std::ostringstream about;
  about << std::boolalpha << "{\"system_calls\": " << filtered << ", \"user\": " << isolation.user << ", \"pid\": " << isolation.pid
        << ", \"network\": " << isolation.network << ", \"read_only\": " << isolation.read_only
        << ", \"processes_hidden\": " << isolation.processes_hidden << ", \"refused\": " << quoted(isolation.refused) << "}";
  send(about.str());
  for (;;) {
    std::istringstream line(read_line());
    std::string command;
    line >> command;
    if (command == "case") load_case(line);
    else if (command == "call") {
      int byte = 0xFF;
      line >> byte;
      bool wanted = !(line >> std::ws).eof();  // else what to bring back comes later: see the client
      Outcome o = checked_call(byte);
      send("{" + outcome_json(o) + (o.sync_code || !wanted ? "" : ", " + collect(line)) + "}");
    } else if (command == "collect") send("{" + collect(line) + "}");
    else if (command == "repeat") repeat(line);
    else if (command == "keep") keep_inputs();
    else if (command == "time") time_calls(line);
    else if (command == "counters") counters(line);
    else if (command == "move") move();
    else if (command == "mem") usage();
    else if (command == "quit") _exit(0);
    else give_up("unknown command " + command);
    close_inputs();
  }
}
