// What the instrumented build of a candidate reports: every load and store of its device code, through the callbacks
// that `-fsanitize=thread` inserts. The sanitizer's own runtime is not linked; these are ours.
//
// The k-th execution of one source position by each lane of a warp forms one request, as lanes in lockstep would make it.
#include <link.h>
#include <sys/mman.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <set>

#include "runtime.h"

namespace cpusim {

namespace {

bool instrumented = false;  // the candidate is a trace build
uintptr_t image_begin = 0, image_end = 0;  // its data: constant memory and __device__ arrays

constexpr uintptr_t frame_bytes = 64 * 1024;
constexpr uint64_t accesses_per_block = 4u << 20;
constexpr uint64_t accesses_per_launch = 4u << 20, fewest_samples = 4;  // of a dear launch
constexpr unsigned traced_launches_per_kernel = 32;
constexpr double lines_per_pass = 2.44;  // of the L1, in one request: 28.6 random lines take 11.7 passes on an H200

unsigned long environment(const char* name, unsigned long otherwise) {
    const char* text = getenv(name);
    return text && *text ? strtoul(text, nullptr, 10) : otherwise;
}

// --- per allocation ---------------------------------------------------------------------------------------------------

struct Word {  // 2 bytes of global memory: the last store
    uint32_t launch, block, thread;
};
struct Sector {  // 32 bytes of global memory: the last launch that read or wrote it, the last traced block that touched it
    uint32_t read_launch, write_launch, block;
};

template <class T>
struct Lazy {  // zero pages that appear when touched
    T* data = nullptr;
    size_t count = 0;
    explicit Lazy(size_t n) : count(n) {
        void* map = mmap(nullptr, n * sizeof(T), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        data = map == MAP_FAILED ? nullptr : static_cast<T*>(map);
    }
    ~Lazy() {
        if (data) munmap(data, count * sizeof(T));
    }
    Lazy(const Lazy&) = delete;
    Lazy& operator=(const Lazy&) = delete;
};

struct Shadow {
    uintptr_t begin, end;  // of the allocation, exact
    Lazy<Word> words;
    Lazy<Sector> sectors;
    uint32_t touched_launch = 0;
    // Sectors that the traced blocks of the launch touched: in all, and summed over the blocks; and by kind.
    uint64_t touched = 0, by_block = 0, read = 0, written = 0, cold_read = 0, cold_written = 0;
    double covered = 0.0;  // share of the array that earlier launches of this call touched
    uint32_t covered_call = 0;
    Shadow(uintptr_t b, uintptr_t e) : begin(b), end(e), words((e - b) / 2 + 2), sectors((e - (b & ~uintptr_t(31))) / 32 + 2) {}
    Word& word(uintptr_t a) { return words.data[(a - begin) / 2]; }
    Sector& sector(uintptr_t a) { return sectors.data[(a - (begin & ~uintptr_t(31))) / 32]; }
};
std::vector<std::unique_ptr<Shadow>> shadows;  // sorted by begin
Shadow* last_shadow = nullptr;

Shadow* shadow_of(uintptr_t address) {
    if (last_shadow && last_shadow->begin <= address && address < last_shadow->end) return last_shadow;
    const Allocation* a = find_allocation(address);
    if (!a) return nullptr;
    auto it = std::lower_bound(shadows.begin(), shadows.end(), a->begin, [](const auto& s, uintptr_t v) { return s->begin < v; });
    if (it == shadows.end() || (*it)->begin != a->begin || (*it)->end != a->end) {
        // Freed memory may come back at the same place with another size.
        shadows.erase(std::remove_if(shadows.begin(), shadows.end(), [&](const auto& s) { return s->begin < a->end && a->begin < s->end; }), shadows.end());
        it = std::lower_bound(shadows.begin(), shadows.end(), a->begin, [](const auto& s, uintptr_t v) { return s->begin < v; });
        it = shadows.insert(it, std::make_unique<Shadow>(a->begin, a->end));
    }
    last_shadow = it->get();
    return last_shadow;
}

// --- per source position ----------------------------------------------------------------------------------------------

struct SiteTrace {
    Site totals{};
    std::vector<uint32_t> executions;                // per thread of the block
    std::vector<std::vector<uintptr_t>> requests;    // per warp: [request * 32 + lane], 0 where a lane is absent
    std::vector<std::vector<uint32_t>> order;        // per warp: [request], how many accesses its first lane had made
    bool used = false;
};
std::vector<std::unique_ptr<SiteTrace>> sites;
std::unordered_map<uint64_t, unsigned> site_index;
struct CacheEntry { uint64_t key; unsigned site; };
CacheEntry site_cache[1024];

unsigned site_of(uintptr_t pc, int line, int bytes, bool write, bool atomic) {
    uint64_t key = pc ? uint64_t(pc) * 2 + write : (uint64_t(1) << 63 | uint64_t(unsigned(line)) << 8 | unsigned(bytes));
    CacheEntry& hit = site_cache[(key * 0x9E3779B97F4A7C15ull) >> 54];
    if (hit.key == key) return hit.site;
    auto found = site_index.find(key);
    unsigned index;
    if (found == site_index.end()) {
        index = unsigned(sites.size());
        sites.push_back(std::make_unique<SiteTrace>());
        Site& s = sites.back()->totals;
        s.pc = pc;
        s.line = line;
        s.bytes = bytes;
        s.write = write;
        s.atomic = atomic;
        site_index.emplace(key, index);
    } else {
        index = found->second;
    }
    hit = {key, index};
    return index;
}

// --- per basic block of the code --------------------------------------------------------------------------------------

struct CodeTrace {
    uintptr_t pc = 0;
    std::vector<uint32_t> executions;  // per thread of the block
    uint64_t warps = 0, threads = 0;   // over all traced blocks: executions of warps, and of threads
};
std::vector<CodeTrace> code_blocks;
std::unordered_map<uintptr_t, unsigned> code_index;
CacheEntry code_cache[1024];

unsigned code_of(uintptr_t pc) {
    CacheEntry& hit = code_cache[(pc * 0x9E3779B97F4A7C15ull) >> 54];
    if (hit.key == pc) return hit.site;
    auto [place, fresh] = code_index.emplace(pc, unsigned(code_blocks.size()));
    if (fresh) code_blocks.emplace_back().pc = pc;
    hit = {pc, place->second};
    return place->second;
}

// A warp executes a basic block as often as the busiest of its lanes does: lanes that can go together do.
void finish_code(unsigned threads) {
    for (CodeTrace& c : code_blocks) {
        for (size_t first = 0; first < c.executions.size() && first < threads; first += 32) {
            uint32_t most = 0;
            for (size_t t = first; t < std::min<size_t>(first + 32, c.executions.size()); ++t) {
                most = std::max(most, c.executions[t]);
                c.threads += c.executions[t];
            }
            c.warps += most;
        }
        std::fill(c.executions.begin(), c.executions.end(), 0u);
    }
}

// --- the L1 of a multiprocessor ---------------------------------------------------------------------------------------

// One block's share of it: lines of four sectors, sets of four lines, the least recently used goes.
struct Cache {
    struct Line {
        uintptr_t line;
        uint32_t used, sectors;
    };
    std::vector<Line> lines;
    size_t sets = 0;
    uint32_t clock = 0;

    void reset(size_t bytes) {
        sets = std::max<size_t>(1, bytes / 512);
        lines.assign(sets * 4, Line{0, 0, 0});
    }
    enum class Found { sector, line, nothing };
    Found load(uintptr_t sector) {
        uintptr_t line = sector >> 2;
        uint32_t bit = 1u << (sector & 3);
        Line* set = &lines[(line * 0x9E3779B97F4A7C15ull >> 32) % sets * 4];
        Line* oldest = set;
        for (Line* l = set; l < set + 4; ++l) {
            if (l->line == line) {
                l->used = ++clock;
                bool hit = l->sectors & bit;
                l->sectors |= bit;
                return hit ? Found::sector : Found::line;
            }
            if (l->used < oldest->used) oldest = l;
        }
        *oldest = Line{line, ++clock, bit};
        return Found::nothing;
    }
} l1;

// --- per traced block -------------------------------------------------------------------------------------------------

struct Access {  // the last of its kind to a byte
    uint32_t time, warp_time;
    uint16_t thread, site;
};
struct Byte {  // of shared memory
    uint32_t written_block;
    Access write, atomic, read;
    uint16_t first_reader;
};

struct BlockTrace {
    uint64_t linear = 0;
    uint32_t serial = 0;
    std::vector<Byte> shared;
    std::vector<uint32_t> warp_time;
    std::vector<uint32_t> stores, repeats, loads;  // global ones, per thread
    std::vector<uint32_t> accesses;                // global and shared ones, per thread
    std::vector<uint32_t> load_time, loads_at_store;  // barrier interval of the last load; loads done at the last store
    std::vector<uint32_t> load_groups, store_groups;   // per thread
};

BlockTrace* now = nullptr;  // the running block, if it is traced
std::map<uint64_t, std::unique_ptr<BlockTrace>> traced_blocks;  // a cooperative launch has several at once
std::unique_ptr<BlockTrace> spare;
uint32_t barrier_time = 1, block_serial = 0;
bool launch_traced = false;
bool dear = false;  // the launch in progress: only its sampled blocks run
std::set<std::string> dear_kernels;
uint64_t sample_count = 0;
uint64_t block_accesses = 0;
uint32_t call_first_launch = 1, last_launch = 0;
std::map<std::string, unsigned> traced_launches;

// A second write to the same place in one interval is a race only if it changes the value: known after it is done.
struct Pending {
    bool active = false, between_blocks = false;
    uintptr_t address = 0;
    int bytes = 0;
    uint16_t first_site = 0, second_site = 0, first_thread = 0, second_thread = 0;
    uint32_t first_block = 0;
    unsigned char value[16];
} pending;

std::string thread_name(unsigned t) {
    const dim3& b = cpusim_state.block_dim;
    return "(" + std::to_string(t % b.x) + "," + std::to_string(t / b.x % b.y) + "," + std::to_string(t / b.x / b.y) + ")";
}

void report_sites(const char* kind, const std::string& text, unsigned first, unsigned second) {
    const Site &a = sites[first]->totals, &b = sites[second]->totals;
    report(kind, text, a.line, b.line, a.pc, b.pc);
}

void race(const char* what, unsigned first_thread, unsigned first_site, unsigned second_thread, unsigned second_site, uintptr_t address) {
    bool same_warp = first_thread >> 5 == second_thread >> 5;
    std::string text = std::string(what) + " of shared memory byte " + std::to_string(address - uintptr_t(shared_arena)) + " by threads " + thread_name(first_thread) + " and " +
                       thread_name(second_thread) + (same_warp ? " of one warp, without __syncwarp() between: undefined since Volta, whatever the warp does together" : ", without __syncthreads() between");
    report_sites(same_warp ? "warp_race" : "shared_race", text, first_site, second_site);
}

void settle_pending() {
    if (!pending.active) return;
    pending.active = false;
    if (memcmp(reinterpret_cast<void*>(pending.address), pending.value, size_t(pending.bytes)) == 0) return;
    if (pending.between_blocks)
        report_sites("global_race", "two blocks write different values to the same place in global memory", pending.first_site, pending.second_site);
    else
        race("two writes", pending.first_thread, pending.first_site, pending.second_thread, pending.second_site, pending.address);
}

bool ordered(const BlockTrace& b, const Access& before, unsigned thread) {
    if (before.time != barrier_time || before.thread == thread) return true;
    return before.thread >> 5 == thread >> 5 && before.warp_time != b.warp_time[thread >> 5];
}

// Looks for one race of this access with what other threads did to the byte; true if there is one.
bool check_race(const BlockTrace& b, Byte& s, unsigned t, uintptr_t address, uintptr_t start, int bytes, bool write, bool atomic, unsigned site) {
    if (s.written_block == b.serial && !ordered(b, s.write, t)) {
        if (write && !atomic && bytes <= 16) {
            settle_pending();
            pending = Pending{true, false, start, bytes, s.write.site, uint16_t(site), s.write.thread, uint16_t(t), 0, {}};
            memcpy(pending.value, reinterpret_cast<void*>(start), size_t(bytes));
        } else {
            race(write ? "a write and an atomic" : "a write and a read", s.write.thread, s.write.site, t, site, address);
        }
        return true;
    }
    if (!atomic && s.written_block == b.serial && !ordered(b, s.atomic, t)) {
        race(write ? "an atomic and a write" : "an atomic and a read", s.atomic.thread, s.atomic.site, t, site, address);
        return true;
    }
    if (!write || s.read.time != barrier_time) return false;
    Access reader = s.read;
    if (reader.thread == t) reader.thread = s.first_reader;
    if (ordered(b, reader, t)) return false;
    race(atomic ? "a read and an atomic" : "a read and a write", reader.thread, reader.site, t, site, address);
    return true;
}

void shared_access(BlockTrace& b, uintptr_t address, int bytes, bool write, bool atomic, unsigned site) {
    size_t offset = address - uintptr_t(shared_arena), size = shared_bytes_used();
    if (offset + size_t(bytes) > size) {
        report_sites("out_of_bounds", std::string(write ? "writes " : "reads ") + std::to_string(bytes) + " bytes, the last " + std::to_string(offset + size_t(bytes) - size) + " past the end of the block's " + std::to_string(size) + " bytes of shared memory", site, site);
        return;
    }
    if (b.shared.size() < offset + size_t(bytes)) b.shared.resize(std::min(shared_arena_bytes, (offset + size_t(bytes)) * 2 + 1024));
    unsigned t = cpusim_state.current;
    Access mine{barrier_time, b.warp_time[t >> 5], uint16_t(t), uint16_t(site)};
    bool unwritten = false, racing = false;
    for (int i = 0; i < bytes; ++i) {
        Byte& s = b.shared[offset + size_t(i)];
        if ((!write || atomic) && s.written_block != b.serial && !unwritten) {
            unwritten = true;
            report_sites("uninitialised_shared", "reads shared memory that no thread of the block has written (byte " + std::to_string(offset + size_t(i)) + ")", site, site);
        }
        racing = racing || check_race(b, s, t, address + uintptr_t(i), address, bytes, write, atomic, site);
        if (write) {
            s.written_block = b.serial;
            (atomic ? s.atomic : s.write) = mine;
        } else {
            if (s.read.time != barrier_time) s.first_reader = uint16_t(t);
            s.read = mine;
        }
    }
}

void global_access(BlockTrace& b, uintptr_t address, int bytes, bool write, bool atomic, unsigned site) {
    Shadow* shadow = shadow_of(address);
    unsigned t = cpusim_state.current;
    LaunchRecord* launch = current_launch();
    if (shadow == nullptr) {
        const Allocation* near = near_allocation(address);
        if (near || address < 65536) {
            report_sites("out_of_bounds", std::string(write ? "writes " : "reads ") + std::to_string(bytes) + " bytes at " + describe_address(address, bytes), site, site);
        } else if (!(image_begin <= address && address < image_end)) {
            report_sites("host_memory", std::string(write ? "writes " : "reads ") + "host memory from a kernel", site, site);
        }
        return;
    }
    uintptr_t begin = shadow->begin, end = shadow->end;
    if (declared_array(address, &begin, &end) ? address + size_t(bytes) > end : address + size_t(bytes) > end) {
        report_sites("out_of_bounds", std::string(write ? "writes " : "reads ") + std::to_string(bytes) + " bytes, the last " + std::to_string(address + size_t(bytes) - end) + " past the end of a buffer of " + std::to_string(end - begin) + " bytes", site, site);
        return;
    }
    if (!shadow->words.data || !shadow->sectors.data) return;
    if (shadow->touched_launch != cpusim_state.launch) {
        shadow->touched_launch = cpusim_state.launch;
        shadow->touched = shadow->by_block = shadow->read = shadow->written = shadow->cold_read = shadow->cold_written = 0;
    }
    if (write) {
        ++b.stores[t];
        ++launch->stores;
        b.loads_at_store[t] = b.loads[t];
    } else {
        // Loads of one group may be in flight together: no barrier and no store is between them.
        if (b.load_time[t] != barrier_time) ++b.load_groups[t];
        else if (b.loads[t] && b.loads_at_store[t] == b.loads[t]) ++b.store_groups[t];
        b.load_time[t] = barrier_time;
        ++b.loads[t];
    }
    bool repeated = write && !atomic && bytes >= 2;
    bool could_synchronize = launch->atomics != 0 || launch->cooperative;
    for (uintptr_t a = address; a < address + size_t(bytes); a += 2) {
        Word& w = shadow->word(a);
        bool here = w.launch == cpusim_state.launch;
        if (write) {
            bool other = here && (w.block != uint32_t(b.linear) || w.thread != t);
            if (!other) repeated = false;
            if (here && !atomic && !could_synchronize && w.block != uint32_t(b.linear) && !pending.active && bytes >= 2 && bytes <= 16) {
                pending.active = true;
                pending.between_blocks = true;
                pending.address = address;
                pending.bytes = bytes;
                pending.first_site = pending.second_site = uint16_t(site);
                memcpy(pending.value, reinterpret_cast<void*>(address), size_t(bytes));
            }
            w = Word{cpusim_state.launch, uint32_t(b.linear), t};
        } else if (here && !could_synchronize && w.block != uint32_t(b.linear) && bytes >= 2) {
            report_sites("global_race", "reads global memory that another block of the same launch writes, with nothing to order them", site, site);
        }
    }
    if (repeated) {
        ++launch->repeated_stores;
        ++b.repeats[t];
    }
    for (uintptr_t a = address & ~uintptr_t(31); a < address + size_t(bytes); a += 32) {
        Sector& s = shadow->sector(a < shadow->begin ? shadow->begin : a);
        uint32_t launch_now = cpusim_state.launch;
        if (s.read_launch < call_first_launch && s.write_launch < call_first_launch) ++(write && !atomic ? shadow->cold_written : shadow->cold_read);
        shadow->touched += s.read_launch != launch_now && s.write_launch != launch_now;
        shadow->by_block += s.block != b.serial;
        s.block = b.serial;
        if (write && s.write_launch != launch_now) {
            s.write_launch = launch_now;
            ++shadow->written;
        }
        if ((!write || atomic) && s.read_launch != launch_now) {
            s.read_launch = launch_now;
            ++shadow->read;
        }
    }
}

// 0 global, 1 shared, 2 local
int space_of(uintptr_t address) {
    if (address - uintptr_t(shared_arena) < shared_arena_bytes) return 1;
    return stacks_begin <= address && address < stacks_end ? 2 : 0;
}

void access(uintptr_t address, int bytes, bool write, bool atomic, uintptr_t pc, int line) {
    if (address - uintptr_t(&cpusim_state) < sizeof(cpusim_state)) return;
    // The launch's arguments lie in the launching function's frame, where a GPU has them in constant memory.
    if (address - (launch_frame - frame_bytes) < 2 * frame_bytes) return;
    settle_pending();
    BlockTrace& b = *now;
    unsigned index = site_of(pc, line, bytes, write, atomic);
    SiteTrace& site = *sites[index];
    unsigned t = cpusim_state.current;
    int space = space_of(address);
    ++b.accesses[t];
    if (space == 2) {
        ++site.totals.accesses[2];
        site.used = true;
        current_launch()->local_bytes += uint64_t(bytes);
        return;
    }
    if (space == 0 && image_begin <= address && address < image_end && !find_allocation(address)) return;  // constant memory
    if (address % unsigned(bytes) != 0)
        report_sites("misaligned", std::string(write ? "writes " : "reads ") + std::to_string(bytes) + " bytes at once at an address that is no multiple of " + std::to_string(bytes) + ": a GPU stops with cudaErrorMisalignedAddress", index, index);
    if (space == 1) shared_access(b, address, bytes, write, atomic, index);
    else global_access(b, address, bytes, write, atomic, index);
    ++site.totals.accesses[space];
    site.used = true;
    if (site.executions.size() < cpusim_state.now.count) {
        site.executions.resize(cpusim_state.now.count);
        site.requests.resize((cpusim_state.now.count + 31) / 32);
        site.order.resize(site.requests.size());
    }
    if (++block_accesses > accesses_per_block || cpusim_state.launch == 0) {
        ++current_launch()->truncated;
        return;
    }
    uint32_t k = site.executions[t]++;
    std::vector<uintptr_t>& list = site.requests[t >> 5];
    size_t place = size_t(k) * 32 + (t & 31);
    if (list.size() <= place) list.resize(std::max(size_t(k + 1) * 32, list.size() * 2));
    list[place] = address;
    std::vector<uint32_t>& order = site.order[t >> 5];
    if (order.size() <= k) order.push_back(b.accesses[t]);
}

// --- requests of a finished block -------------------------------------------------------------------------------------

unsigned distinct(uintptr_t* values, unsigned count) {
    std::sort(values, values + count);
    return unsigned(std::unique(values, values + count) - values);
}

// Lanes of an atomic that want one address go one after another: each pass takes one of them, and touches its sectors.
unsigned atomic_sectors(const uintptr_t* lanes, unsigned* most) {
    uintptr_t passes[32];
    unsigned n = 0;
    for (unsigned l = 0; l < 32; ++l) {
        if (!lanes[l]) continue;
        unsigned pass = 0;
        for (unsigned before = 0; before < l; ++before) pass += lanes[before] == lanes[l];
        passes[n++] = uintptr_t(pass) << 58 | lanes[l] >> 5;
        *most = std::max(*most, pass + 1);
    }
    return distinct(passes, n);
}

// Words of each of the 32 banks, the most of any: passes that shared memory and the L1's data need.
unsigned bank_passes(const uintptr_t* lanes, unsigned bytes) {
    uintptr_t words[32 * 4];
    unsigned n = 0, per_bank[32] = {}, most = 0;
    for (unsigned l = 0; l < 32; ++l) {
        if (!lanes[l]) continue;
        for (uintptr_t w = lanes[l] >> 2; w <= (lanes[l] + bytes - 1) >> 2 && n < 128; ++w) words[n++] = w;
    }
    n = distinct(words, n);
    for (unsigned i = 0; i < n; ++i) most = std::max(most, ++per_bank[words[i] & 31]);
    return most;
}

void count_request(Site& s, const uintptr_t* lanes) {
    uintptr_t chunks[32 * 4];
    unsigned active = 0, n = 0;
    int space = -1;
    for (unsigned l = 0; l < 32; ++l) {
        if (!lanes[l]) continue;
        ++active;
        if (space < 0) space = space_of(lanes[l]);
    }
    if (!active) return;
    ++s.requests[space];
    s.lanes[space] += active;
    unsigned bytes = unsigned(s.bytes);
    if (space == 1) {
        s.wavefronts += bank_passes(lanes, bytes);
        return;
    }
    for (unsigned l = 0; l < 32; ++l) {
        if (!lanes[l]) continue;
        for (uintptr_t w = lanes[l] >> 5; w <= (lanes[l] + bytes - 1) >> 5 && n < 128; ++w) chunks[n++] = w;
    }
    n = distinct(chunks, n);
    if (s.atomic) {
        unsigned passes = 0;
        s.sectors[space] += atomic_sectors(lanes, &passes);
        s.wavefronts += passes;
    } else {
        s.sectors[space] += n;
    }
    s.request_bytes += uint64_t(active) * bytes;
    if (!s.write) {
        unsigned sectors = 0, lines = 0;
        for (unsigned i = 0; i < n; ++i) {
            Cache::Found found = l1.load(chunks[i]);
            sectors += found != Cache::Found::sector;
            lines += found == Cache::Found::nothing;
        }
        s.missed_sectors += sectors;
        s.missed_requests += sectors > 0;
        s.line_missed_requests += lines > 0;
    }
    for (unsigned i = 0; i < n; ++i) chunks[i] >>= 2;
    unsigned lines = unsigned(std::unique(chunks, chunks + n) - chunks);
    s.lines[space] += lines;
    if (!s.atomic) s.wavefronts += std::max(bank_passes(lanes, bytes), unsigned(lines / lines_per_pass + 0.5));
}

void finish(BlockTrace& b) {
    LaunchRecord* launch = current_launch();
    l1.reset(l1_bytes_per_block(launch->blocks, launch->threads / launch->blocks, launch->dynamic_bytes + shared_static_bytes()));
    // Warps go side by side: what each of them does first comes first.
    struct Request {
        uint32_t order, site, warp, number;
    };
    static std::vector<Request> requests;
    requests.clear();
    for (uint32_t i = 0; i < sites.size(); ++i) {
        if (!sites[i]->used) continue;
        for (uint32_t w = 0; w < sites[i]->order.size(); ++w)
            for (uint32_t k = 0; k < sites[i]->order[w].size(); ++k) requests.push_back(Request{sites[i]->order[w][k], i, w, k});
    }
    std::stable_sort(requests.begin(), requests.end(), [](const Request& x, const Request& y) { return x.order < y.order; });
    for (const Request& r : requests) count_request(sites[r.site]->totals, &sites[r.site]->requests[r.warp][size_t(r.number) * 32]);
    for (auto& site : sites) {
        if (!site->used) continue;
        for (auto& list : site->requests) list.clear();
        for (auto& list : site->order) list.clear();
        std::fill(site->executions.begin(), site->executions.end(), 0u);
    }
    finish_code(unsigned(launch->threads / launch->blocks));
    // The thread that loads most is what its block waits for.
    size_t busiest = size_t(std::max_element(b.loads.begin(), b.loads.end()) - b.loads.begin());
    launch->busiest_loads += b.loads[busiest];
    launch->load_groups += b.load_groups[busiest];
    launch->store_groups += b.store_groups[busiest];
    for (size_t t = 0; t < b.stores.size(); ++t) {
        if (b.stores[t] + b.loads[t] == 0) ++launch->idle_threads;
        else if (b.stores[t] && b.repeats[t] == b.stores[t]) ++launch->redundant_threads;
    }
    ++launch->sampled_blocks;
}

bool sampled(uint64_t linear, uint64_t blocks) {
    if (blocks <= sample_count) return true;
    // One block of each of so many equal parts of the grid, the first and the last among them; the others' places are
    // irregular, so that they don't all lie in one column of the grid.
    uint64_t part = linear * sample_count / blocks;
    uint64_t begin = (part * blocks + sample_count - 1) / sample_count, end = ((part + 1) * blocks + sample_count - 1) / sample_count;
    if (part == 0) return linear == 0;
    if (part == sample_count - 1) return linear == blocks - 1;
    return linear == begin + (part * 0x9E3779B97F4A7C15ull >> 33) % (end - begin);
}

// From the sectors that `sample` of `blocks` blocks touched, in all and summed over them, to what all blocks touch.
// Blocks are taken to draw their sectors from one set: the less the sampled ones share, the larger the set.
double all_touched(double touched, double summed, double sample, double blocks, double most) {
    if (sample >= blocks || touched == 0) return touched;
    double each = summed / sample, all = summed * blocks / sample;
    if (touched < 0.999 * summed) {
        double low = std::max(touched, each), high = std::max(2 * low, each * blocks);
        for (int i = 0; i < 60; ++i) {
            double set = (low + high) / 2;
            (set * (1 - std::pow(1 - each / set, sample)) < touched ? low : high) = set;
        }
        all = high * (1 - std::pow(1 - each / high, blocks));
    }
    return std::max(touched, std::min(all, most));
}

// Adds up, array by array, the distinct bytes that the launch reads and writes.
void finish_arrays() {
    LaunchRecord* launch = current_launch();
    for (auto& s : shadows) {
        if (s->touched_launch != cpusim_state.launch || s->touched == 0) continue;
        if (s->covered_call != call_first_launch) s->covered = 0.0;
        s->covered_call = call_first_launch;
        double sectors = double(s->sectors.count - 2), factor = 32.0 * all_touched(double(s->touched), double(s->by_block), double(launch->sampled_blocks), double(launch->blocks), sectors) / double(s->touched);
        // Sampled blocks need not be the ones that touched the same places in an earlier launch.
        double cold = launch->sampled_blocks < launch->blocks ? 1.0 - s->covered : 1.0;
        launch->unique_read_bytes += uint64_t(factor * double(s->read));
        launch->unique_write_bytes += uint64_t(factor * double(s->written));
        launch->cold_read_bytes += uint64_t(cold * factor * double(s->cold_read));
        launch->cold_write_bytes += uint64_t(cold * factor * double(s->cold_written));
        s->covered = std::min(1.0, std::max(s->covered, factor * double(s->touched) / 32.0 / sectors));
    }
}

// Finds the object that holds an address; without one, takes the last object: the one that is being loaded.
int find_image(dl_phdr_info* info, size_t, void* wanted) {
    uintptr_t low = ~uintptr_t(0), high = 0;
    for (int i = 0; i < info->dlpi_phnum; ++i) {
        if (info->dlpi_phdr[i].p_type != PT_LOAD) continue;
        uintptr_t begin = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
        low = std::min(low, begin);
        high = std::max(high, begin + info->dlpi_phdr[i].p_memsz);
    }
    uintptr_t inside = *static_cast<uintptr_t*>(wanted);
    if (inside && (inside < low || inside >= high)) return 0;
    image_begin = low;
    image_end = high;
    return inside != 0;
}

}  // namespace

void trace_call_begin() {
    call_first_launch = last_launch + 1;
    traced_launches.clear();
}

bool from_candidate(uintptr_t pc) { return !instrumented || (image_begin <= pc && pc < image_end); }

void trace_launch_begin(uintptr_t code) {
    if (instrumented && (code < image_begin || code >= image_end)) dl_iterate_phdr(find_image, &code);
    last_launch = cpusim_state.launch;
    LaunchRecord* launch = current_launch();
    launch_traced = instrumented && ++traced_launches[launch->kernel + "/" + std::to_string(launch->blocks) + "/" + std::to_string(launch->threads)] <= traced_launches_per_kernel;
    launch->traced = launch_traced;
    now = nullptr;
    dear = false;
    if (!launch_traced) return;
    static const unsigned long wanted = environment("CPUSIM_SAMPLE_BLOCKS", 64);
    sample_count = std::max(2ul, wanted);
    for (auto& site : sites) {
        Site& s = site->totals;
        s = Site{s.pc, s.line, s.bytes, s.write, s.atomic};
        site->used = false;
        site->executions.clear();
        site->requests.clear();
        site->order.clear();
    }
    for (CodeTrace& c : code_blocks) {
        c.executions.assign(launch->threads / launch->blocks, 0);
        c.warps = c.threads = 0;
    }
}

void trace_launch_end() {
    now = nullptr;
    if (!launch_traced) return;
    settle_pending();
    for (auto& entry : traced_blocks) finish(*entry.second);
    traced_blocks.clear();
    finish_arrays();
    LaunchRecord* launch = current_launch();
    for (auto& site : sites)
        if (site->used) launch->sites.push_back(site->totals);
    for (const CodeTrace& c : code_blocks)
        if (c.threads) launch->code.push_back(CodeCount{c.pc, c.warps, c.threads});
    launch_traced = false;
}

void trace_enter_block(uint64_t linear) {
    now = nullptr;
    if (!launch_traced) return;
    LaunchRecord* launch = current_launch();
    if (!sampled(linear, launch->blocks)) return;
    auto& slot = traced_blocks[linear];
    if (!slot) {
        slot = spare ? std::move(spare) : std::make_unique<BlockTrace>();
        slot->linear = linear;
        slot->serial = ++block_serial;
        slot->warp_time.assign(max_threads / 32, 0);
        slot->stores.assign(cpusim_state.now.count, 0);
        slot->repeats.assign(cpusim_state.now.count, 0);
        slot->loads.assign(cpusim_state.now.count, 0);
        slot->accesses.assign(cpusim_state.now.count, 0);
        slot->load_time.assign(cpusim_state.now.count, 0);
        slot->load_groups.assign(cpusim_state.now.count, 0);
        slot->store_groups.assign(cpusim_state.now.count, 0);
        slot->loads_at_store.assign(cpusim_state.now.count, 0);
        ++barrier_time;
        block_accesses = 0;
    }
    now = slot.get();
}

bool trace_skips(uint64_t linear) {
    static const unsigned long most = environment("CPUSIM_SAMPLED_ABOVE", ~0ul);
    if (!instrumented || most == ~0ul || linear == 0) return false;
    uint64_t all = current_launch()->blocks;
    if (linear == 1 && launch_traced) {
        // The first block tells how dear the others are.
        dear = block_accesses > 0 && block_accesses > most / all;
        if (dear) sample_count = std::clamp<uint64_t>(accesses_per_launch / block_accesses, std::min(fewest_samples, sample_count), sample_count);
        if (dear) dear_kernels.insert(current_launch()->kernel);
    }
    if (!launch_traced) return dear_kernels.count(current_launch()->kernel) > 0;
    return dear && !sampled(linear, all);
}

void trace_finish_block(uint64_t linear) {
    now = nullptr;
    if (!launch_traced) return;
    auto it = traced_blocks.find(linear);
    if (it == traced_blocks.end()) return;
    settle_pending();
    finish(*it->second);
    spare = std::move(it->second);
    traced_blocks.erase(it);
}

void trace_barrier() {
    if (!now) return;
    settle_pending();
    ++barrier_time;
}
void trace_grid_barrier() {
    settle_pending();
    ++barrier_time;
}
void trace_warp_sync(unsigned warp, unsigned) {
    if (!now) return;
    settle_pending();
    ++now->warp_time[warp];
}
void trace_atomic(uintptr_t address, int bytes, int line) {
    if (now) access(address, bytes, true, true, 0, line);
}

}  // namespace cpusim

using namespace cpusim;

#define CPUSIM_PC reinterpret_cast<uintptr_t>(__builtin_return_address(0)) - 1
#define CPUSIM_CALLBACK(N) \
    void __tsan_read##N(void* p) { if (now) access(uintptr_t(p), N, false, false, CPUSIM_PC, 0); } \
    void __tsan_write##N(void* p) { if (now) access(uintptr_t(p), N, true, false, CPUSIM_PC, 0); } \
    void __tsan_unaligned_read##N(void* p) { if (now) in_pieces(uintptr_t(p), N, false, CPUSIM_PC); } \
    void __tsan_unaligned_write##N(void* p) { if (now) in_pieces(uintptr_t(p), N, true, CPUSIM_PC); } \
    void __tsan_volatile_read##N(void* p) { if (now) access(uintptr_t(p), N, false, false, CPUSIM_PC, 0); } \
    void __tsan_volatile_write##N(void* p) { if (now) access(uintptr_t(p), N, true, false, CPUSIM_PC, 0); } \
    void __tsan_unaligned_volatile_read##N(void* p) { if (now) in_pieces(uintptr_t(p), N, false, CPUSIM_PC); } \
    void __tsan_unaligned_volatile_write##N(void* p) { if (now) in_pieces(uintptr_t(p), N, true, CPUSIM_PC); }

namespace {
// A copy of a struct that the host makes at once: a GPU loads and stores aligned pieces only. The type is not known
// here: large ones in multiples of 16 bytes are taken for vectors, others for words, where their place allows.
void in_pieces(uintptr_t address, size_t bytes, bool write, uintptr_t pc) {
    size_t piece = bytes > 16 && address % 16 == 0 && bytes % 16 == 0 ? 16 : address % 4 == 0 && bytes % 4 == 0 ? 4 : address % 2 == 0 && bytes % 2 == 0 ? 2 : 1;
    for (size_t i = 0; i < bytes; i += piece) access(address + i, int(piece), write, false, pc, 0);
}
}  // namespace

extern "C" {
void __tsan_init() {
    uintptr_t any = 0;
    instrumented = true;
    dl_iterate_phdr(find_image, &any);
}
CPUSIM_CALLBACK(1)
CPUSIM_CALLBACK(2)
CPUSIM_CALLBACK(4)
CPUSIM_CALLBACK(8)
CPUSIM_CALLBACK(16)
void __tsan_read_range(void* p, size_t bytes) { if (now) in_pieces(uintptr_t(p), bytes, false, CPUSIM_PC); }
void __tsan_write_range(void* p, size_t bytes) { if (now) in_pieces(uintptr_t(p), bytes, true, CPUSIM_PC); }
void __sanitizer_cov_trace_pc() {
    if (!now) return;
    CodeTrace& c = code_blocks[code_of(CPUSIM_PC + 1)];
    if (c.executions.size() < now->accesses.size()) c.executions.resize(now->accesses.size());
    ++c.executions[cpusim_state.current];
}
#define CPUSIM_FAST_OF_ONE(NAME) float cpusim_fast_##NAME(float x) { return NAME(x); }
CPUSIM_FAST_OF_ONE(expf)
CPUSIM_FAST_OF_ONE(logf)
CPUSIM_FAST_OF_ONE(log2f)
CPUSIM_FAST_OF_ONE(log10f)
CPUSIM_FAST_OF_ONE(tanhf)
CPUSIM_FAST_OF_ONE(sinf)
CPUSIM_FAST_OF_ONE(cosf)
CPUSIM_FAST_OF_ONE(tanf)
float cpusim_fast_powf(float x, float y) { return powf(x, y); }
float cpusim_fast_divf(float x, float y) { return x / y; }
float cpusim_fast_rsqrtf(float x) { return 1.0f / sqrtf(x); }
void __tsan_vptr_update(void**, void*) {}
void __tsan_vptr_read(void**) {}
void __tsan_func_entry(void*) {}
void __tsan_func_exit() {}
}
