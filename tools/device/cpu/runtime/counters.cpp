// What the runtime counts, and its JSON.
#include <dlfcn.h>

#include "runtime.h"

namespace cpusim {

Counters counters;

namespace {

// Atomics per address in the launch in progress: open addressing, doubled at half full.
struct AddressCounts {
    std::vector<std::pair<uintptr_t, uint64_t>> slots{std::vector<std::pair<uintptr_t, uint64_t>>(1024)};
    size_t used = 0;
    uint64_t most = 0;

    void clear() {
        if (used) std::fill(slots.begin(), slots.end(), std::pair<uintptr_t, uint64_t>{});
        used = 0;
        most = 0;
    }
    uint64_t& at(uintptr_t address) {
        size_t mask = slots.size() - 1, i = (address >> 2) * 0x9E3779B97F4A7C15ull >> 20 & mask;
        while (slots[i].first && slots[i].first != address) i = (i + 1) & mask;
        if (!slots[i].first) {
            if (++used * 2 > slots.size()) {
                std::vector<std::pair<uintptr_t, uint64_t>> old(slots.size() * 2);
                old.swap(slots);
                --used;
                size_t kept = used;
                for (auto& s : old)
                    if (s.first) at_new(s.first) = s.second;
                used = kept;
                return at(address);
            }
            slots[i].first = address;
        }
        return slots[i].second;
    }

private:
    uint64_t& at_new(uintptr_t address) {
        size_t mask = slots.size() - 1, i = (address >> 2) * 0x9E3779B97F4A7C15ull >> 20 & mask;
        while (slots[i].first) i = (i + 1) & mask;
        slots[i].first = address;
        return slots[i].second;
    }
};

AddressCounts global_atomics, slice_atomics, shared_atomics;
unsigned counted_launch = 0;

std::string quoted(const std::string& text) {
    std::string out = "\"";
    for (char c : text) {
        if (c == '"' || c == '\\') out += '\\', out += c;
        else if (static_cast<unsigned char>(c) < 0x20) out += ' ';
        else out += c;
    }
    return out + '"';
}

void number(std::string& out, const char* name, uint64_t value) {
    out += ",\"";
    out += name;
    out += "\":";
    out += std::to_string(value);
}

uint64_t candidate_offset(uintptr_t pc) {
    Dl_info from{};
    return pc && dladdr(reinterpret_cast<void*>(pc), &from) ? pc - uintptr_t(from.dli_fbase) : 0;
}

void array(std::string& out, const char* name, const uint64_t (&values)[3]) {
    out += ",\"" + std::string(name) + "\":[" + std::to_string(values[0]) + "," + std::to_string(values[1]) + "," + std::to_string(values[2]) + "]";
}

}  // namespace

LaunchRecord* current_launch() { return counters.launches.empty() ? nullptr : &counters.launches.back(); }

void report(const char* kind, const std::string& text, int line, int line2, uintptr_t pc, uintptr_t pc2) {
    std::string kernel = current_launch() && cpusim_state.launch ? current_launch()->kernel : "";
    for (Finding& f : counters.findings) {
        if (f.kind == kind && f.line == line && f.line2 == line2 && f.pc == pc && f.pc2 == pc2 && f.kernel == kernel) {
            ++f.count;
            return;
        }
    }
    if (counters.findings.size() >= 200) return;
    std::string at = cpusim_state.launch ? " (first in " + where() + ")" : "";
    counters.findings.push_back(Finding{kind, kernel, text + at, line, line2, pc, pc2, 1});
}

}  // namespace cpusim

using namespace cpusim;

extern "C" {

void cpusim_atomic(const void* pointer, int bytes, bool floating, int line) {
    LaunchRecord* launch = current_launch();
    if (cpusim_state.launch == 0 || launch == nullptr) return;
    if (counted_launch != cpusim_state.launch) {
        counted_launch = cpusim_state.launch;
        global_atomics.clear();
        slice_atomics.clear();
        shared_atomics.clear();
    }
    uintptr_t address = uintptr_t(pointer);
    bool shared = address - uintptr_t(shared_arena) < shared_arena_bytes;
    if (shared) {
        ++launch->shared_atomics;
        // Blocks follow each other in the same place: contention is within a block.
        uint64_t count = ++shared_atomics.at(address);
        if (count > launch->shared_same_address) launch->shared_same_address = count;
    } else {
        ++launch->atomics;
        uint64_t& count = global_atomics.at(address);
        if (count == 0) ++launch->atomic_addresses;
        if (++count > launch->same_address_atomics) launch->same_address_atomics = count;
        launch->float_atomics += floating;
        uint64_t in_slice = ++slice_atomics.at(address & ~uintptr_t(255));
        if (in_slice > launch->same_slice_atomics) launch->same_slice_atomics = in_slice;
    }
    trace_atomic(address, bytes, line);
}

void cpusim_counters_reset() {
    trace_call_begin();
    counters.launches.clear();
    counters.findings.clear();
    counters.allocations = counters.copies = counters.synchronizations = counters.skipped_launches = 0;
}

const char* cpusim_counters_json() {
    static std::string out;
    out = "{\"schema\":1";
    number(out, "allocations", counters.allocations);
    number(out, "copies", counters.copies);
    number(out, "synchronizations", counters.synchronizations);
    number(out, "skipped_launches", counters.skipped_launches);
    out += ",\"launches\":[";
    bool first = true;
    for (const LaunchRecord& r : counters.launches) {
        if (!first) out += ",";
        first = false;
        out += "{\"kernel\":" + quoted(r.kernel);
        number(out, "line", uint64_t(r.line));
        out += ",\"grid\":[" + std::to_string(r.grid.x) + "," + std::to_string(r.grid.y) + "," + std::to_string(r.grid.z) + "]";
        out += ",\"block\":[" + std::to_string(r.block.x) + "," + std::to_string(r.block.y) + "," + std::to_string(r.block.z) + "]";
        number(out, "dynamic_bytes", r.dynamic_bytes);
        number(out, "static_bytes", r.static_bytes);
        number(out, "cooperative", r.cooperative);
        number(out, "traced", r.traced);
        number(out, "threads", r.threads);
        number(out, "barriers", r.barriers);
        number(out, "grid_barriers", r.grid_barriers);
        number(out, "warp_ops", r.warp_ops);
        number(out, "atomics", r.atomics);
        number(out, "shared_atomics", r.shared_atomics);
        number(out, "atomic_addresses", r.atomic_addresses);
        number(out, "same_address_atomics", r.same_address_atomics);
        number(out, "same_slice_atomics", r.same_slice_atomics);
        number(out, "float_atomics", r.float_atomics);
        number(out, "shared_same_address_atomics", r.ran_blocks ? (r.shared_same_address + r.ran_blocks - 1) / r.ran_blocks : 0);
        number(out, "blocks", r.blocks);
        number(out, "ran_blocks", r.ran_blocks);
        if (r.traced) {
            number(out, "sampled_blocks", r.sampled_blocks);
            number(out, "idle_threads", r.idle_threads);
            number(out, "redundant_threads", r.redundant_threads);
            number(out, "stores", r.stores);
            number(out, "repeated_stores", r.repeated_stores);
            number(out, "unique_read_bytes", r.unique_read_bytes);
            number(out, "unique_write_bytes", r.unique_write_bytes);
            number(out, "local_bytes", r.local_bytes);
            number(out, "cold_read_bytes", r.cold_read_bytes);
            number(out, "cold_write_bytes", r.cold_write_bytes);
            number(out, "busiest_loads", r.busiest_loads);
            number(out, "load_groups", r.load_groups);
            number(out, "store_groups", r.store_groups);
            number(out, "truncated", r.truncated);
            out += ",\"sites\":[";
            bool first_site = true;
            for (const Site& s : r.sites) {
                if (!first_site) out += ",";
                first_site = false;
                out += "{\"line\":" + std::to_string(s.line);
                number(out, "pc", candidate_offset(s.pc));
                number(out, "bytes", uint64_t(s.bytes));
                number(out, "write", s.write);
                number(out, "atomic", s.atomic);
                array(out, "accesses", s.accesses);
                array(out, "requests", s.requests);
                array(out, "sectors", s.sectors);
                array(out, "lines", s.lines);
                array(out, "lanes", s.lanes);
                number(out, "wavefronts", s.wavefronts);
                number(out, "missed_sectors", s.missed_sectors);
                number(out, "missed_requests", s.missed_requests);
                number(out, "line_missed_requests", s.line_missed_requests);
                number(out, "request_bytes", s.request_bytes);
                out += "}";
            }
            out += "],\"code\":[";
            bool first_code = true;
            for (const CodeCount& c : r.code) {
                out += (first_code ? "[" : ",[") + std::to_string(candidate_offset(c.pc)) + "," + std::to_string(c.warps) + "," + std::to_string(c.threads) + "]";
                first_code = false;
            }
            out += "]";
        }
        out += "}";
    }
    out += "],\"findings\":[";
    first = true;
    for (const Finding& f : counters.findings) {
        if (!first) out += ",";
        first = false;
        out += "{\"kind\":" + quoted(f.kind) + ",\"kernel\":" + quoted(f.kernel) + ",\"text\":" + quoted(f.text);
        number(out, "line", uint64_t(f.line));
        number(out, "line2", uint64_t(f.line2));
        number(out, "pc", candidate_offset(f.pc));
        number(out, "pc2", candidate_offset(f.pc2));
        number(out, "count", f.count);
        out += "}";
    }
    out += "]}";
    return out.c_str();
}

}
