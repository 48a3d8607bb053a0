//! use state murmur pairs
// Counts all pairs of adjacent symbols of a word, weighted by the word's count. Each workgroup first sums its 256 pairs
// in a table of its own (1,024 slots, a quarter full at most), then adds each sum to the global table once.
@group(0) @binding(0) var<storage, read> symbols: array<u32>;
@group(0) @binding(1) var<storage, read_write> pair_counts: array<atomic<u32>>;
@group(0) @binding(2) var<storage, read_write> pair_ids: array<atomic<u32>>;
@group(0) @binding(3) var<storage, read> state: array<u32>;
@group(0) @binding(4) var<storage, read> owners: array<u32>; // the word of each symbol
@group(0) @binding(5) var<storage, read> weights: array<u32>; // 64-bit counts of words, low word first
@group(0) @binding(6) var<storage, read_write> usage: array<atomic<u32>>;
@group(0) @binding(7) var<storage, read_write> dirty: array<u32>;
@group(0) @binding(8) var<storage, read> lengths: array<u32>; // lengths[1]: number of symbols

const LOCAL_TABLE_SIZE: u32 = 1024u;
const LOCAL_TABLE_MASK: u32 = 1023u;
var<workgroup> local_left: array<atomic<u32>, LOCAL_TABLE_SIZE>;
var<workgroup> local_right: array<atomic<u32>, LOCAL_TABLE_SIZE>;
var<workgroup> local_low: array<atomic<u32>, LOCAL_TABLE_SIZE>;
var<workgroup> local_high: array<atomic<u32>, LOCAL_TABLE_SIZE>;

fn claim_local_left(slot: u32, value: u32) -> bool {
    loop {
        let attempt = atomicCompareExchangeWeak(&local_left[slot], 0u, value);
        if (attempt.exchanged || attempt.old_value != 0u) {
            return attempt.exchanged || attempt.old_value == value;
        }
    }
    return false;
}

fn claim_local_right(slot: u32, value: u32) -> bool {
    loop {
        let attempt = atomicCompareExchangeWeak(&local_right[slot], 0u, value);
        if (attempt.exchanged || attempt.old_value != 0u) {
            return attempt.exchanged || attempt.old_value == value;
        }
    }
    return false;
}

// Triangular probing meets every slot of a power of two, and 256 pairs leave most of them free.
fn add_locally(left: u32, right: u32, low: u32, high: u32) {
    var slot = pair_hash(left, right) & LOCAL_TABLE_MASK;
    for (var probe = 1u; probe <= LOCAL_TABLE_SIZE; probe++) {
        if (claim_local_left(slot, left + 1u)) {
            if (claim_local_right(slot, right + 1u)) {
                break;
            }
        }
        slot = (slot + probe) & LOCAL_TABLE_MASK;
    }
    let before = atomicAdd(&local_low[slot], low);
    atomicAdd(&local_high[slot], high + select(0u, 1u, before + low < before));
}

@compute @workgroup_size(256)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    // Not every driver clears the memory of a workgroup, though WebGPU says that it is zero.
    for (var slot = lane; slot < LOCAL_TABLE_SIZE; slot += 256u) {
        atomicStore(&local_left[slot], 0u);
        atomicStore(&local_right[slot], 0u);
        atomicStore(&local_low[slot], 0u);
        atomicStore(&local_high[slot], 0u);
    }
    workgroupBarrier();
    let i = item_number(group, groups, lane);
    let running = state[STOP] == RUNNING;
    if (running && i + 1u < lengths[1]) {
        let right = symbols[i + 1u];
        if ((right & WORD_START_BIT) == 0u) {
            let owner = owners[i];
            add_locally(symbols[i] & SYMBOL_MASK, right, weights[2u * owner], weights[2u * owner + 1u]);
        }
    }
    workgroupBarrier();
    for (var slot = lane; slot < LOCAL_TABLE_SIZE; slot += 256u) {
        let left = atomicLoad(&local_left[slot]);
        if (left != 0u) {
            let right = atomicLoad(&local_right[slot]);
            add_to_pair(left - 1u, right - 1u, atomicLoad(&local_low[slot]), atomicLoad(&local_high[slot]));
        }
    }
}
