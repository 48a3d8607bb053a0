//! use state best murmur
// Turns the chosen pair into the next merge: gives its product an id, drops it if its product is forbidden, or stops.
// One invocation. It stops before it changes anything, so the host can make room and go on from the same place.
@group(0) @binding(0) var<storage, read_write> state: array<u32>;
@group(0) @binding(1) var<storage, read_write> lengths: array<u32>; // blocks to scan, number of symbols
@group(0) @binding(2) var<storage, read> chosen: array<Best>;
@group(0) @binding(3) var<storage, read_write> pair_counts: array<u32>;
@group(0) @binding(4) var<storage, read_write> dirty: array<u32>;
@group(0) @binding(5) var<storage, read_write> pool: array<u32>; // bytes of all strings, one a word
@group(0) @binding(6) var<storage, read_write> spelled: array<vec2<u32>>; // (place in the pool, length) of each id
@group(0) @binding(7) var<storage, read_write> strings: array<vec4<u32>>; // place + 1 (0: free), length, id + 1, flags
@group(0) @binding(8) var<storage, read_write> merges: array<vec4<u32>>; // left, right, count low, count high
@group(0) @binding(9) var<storage, read> usage: array<u32>;

const FORBIDDEN: u32 = 1u;
const KNOWN: u32 = 2u;

fn string_hash(at: u32, length: u32) -> u32 {
    var hash = length;
    for (var i = 0u; i < length; i++) {
        hash = murmur_mix(hash * 31u + pool[at + i]);
    }
    return hash;
}

fn same_bytes(one: u32, other: u32, length: u32) -> bool {
    for (var i = 0u; i < length; i++) {
        if (pool[one + i] != pool[other + i]) {
            return false;
        }
    }
    return true;
}

// The slot of the string of `length` bytes at `at`, or the free slot where it belongs. The host keeps slots free.
fn string_slot(at: u32, length: u32) -> u32 {
    let mask = state[STRING_SLOTS] - 1u;
    var slot = string_hash(at, length) & mask;
    loop {
        let entry = strings[slot];
        if (entry.x == 0u || (entry.y == length && same_bytes(entry.x - 1u, at, length))) {
            return slot;
        }
        slot = (slot + 1u) & mask;
    }
    return 0u;
}

fn stop(reason: u32) {
    state[STOP] = reason;
    state[ACTIVE] = 0u;
    lengths[0] = 0u;
}

// The product behind the strings in use; its length.
fn write_product(left: vec2<u32>, right: vec2<u32>) -> u32 {
    let at = state[POOL_USED];
    for (var i = 0u; i < left.y; i++) {
        pool[at + i] = pool[left.x + i];
    }
    for (var i = 0u; i < right.y; i++) {
        pool[at + left.y + i] = pool[right.x + i];
    }
    return left.y + right.y;
}

fn product_id(slot: u32, length: u32) -> u32 {
    if (strings[slot].z != 0u) {
        return strings[slot].z - 1u;
    }
    let at = state[POOL_USED];
    let id = state[IDS];
    state[IDS] = id + 1u;
    state[POOL_USED] = at + length;
    spelled[id] = vec2<u32>(at, length);
    let flags = strings[slot].w;
    strings[slot] = vec4<u32>(at + 1u, length, id + 1u, flags);
    if ((flags & KNOWN) == 0u) {
        state[MADE] += 1u;
    }
    return id;
}

@compute @workgroup_size(1)
fn main() {
    if (state[STOP] != RUNNING) {
        stop(state[STOP]);
        return;
    }
    if (usage[1] != 0u || usage[0] > state[CAPACITY] / 2u) {
        stop(TABLE_FULL);
        return;
    }
    let best = chosen[0];
    if (best.high < 0 || (best.high == 0 && best.low == 0u) || state[MADE] >= state[TARGET]) {
        stop(DONE);
        return;
    }
    let left = spelled[best.left];
    let right = spelled[best.right];
    if (state[POOL_USED] + left.y + right.y > state[POOL_CAPACITY]) {
        stop(POOL_FULL);
        return;
    }
    let length = write_product(left, right);
    let slot = string_slot(state[POOL_USED], length);
    pair_counts[2u * best.slot] = 0u;
    dirty[best.slot / BLOCK] = 1u;
    if ((strings[slot].w & FORBIDDEN) != 0u) {
        pair_counts[2u * best.slot + 1u] = DROPPED_HIGH;
        state[DROPPED] += 1u;
        state[LEFT] = NO_SYMBOL; // no symbol matches: this step only copies
        state[RIGHT] = NO_SYMBOL - 1u;
    } else {
        pair_counts[2u * best.slot + 1u] = 0u;
        let merge = state[MERGES];
        merges[merge] = vec4<u32>(best.left, best.right, best.low, bitcast<u32>(best.high));
        state[MERGES] = merge + 1u;
        state[LEFT] = best.left;
        state[RIGHT] = best.right;
        state[PRODUCT] = product_id(slot, length);
    }
    state[ACTIVE] = 1u;
    state[STEPS] += 1u;
    state[SIZE] = lengths[1];
    lengths[0] = (lengths[1] + 255u) / 256u;
}
