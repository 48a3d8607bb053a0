// The global table of pairs. Slot s holds left + 1 and right + 1 in words 2 s and 2 s + 1 of `pair_ids`, 0 where it is
// free, and the 64-bit count, low word first, in the same words of `pair_counts`. `usage[0]` counts slots in use;
// `usage[1]` is set where a pair found no slot. A kernel declares pair_ids, pair_counts, usage, dirty and state.
//
// No invocation waits for another. The left word of a slot is claimed before the right one, and neither ever changes
// again. So all invocations with one pair pass and stop at the same slots.
const MOST_PROBES: u32 = 64u;
const NO_SLOT: u32 = 0xFFFFFFFFu;

// The value of word `at` after an attempt to set it from 0. A weak exchange may fail without a reason: try again.
fn claim(at: u32, value: u32) -> u32 {
    var seen = atomicLoad(&pair_ids[at]);
    var added = 0u;
    while (seen == 0u) {
        let attempt = atomicCompareExchangeWeak(&pair_ids[at], 0u, value);
        seen = select(attempt.old_value, value, attempt.exchanged);
        added = select(0u, at & 1u, attempt.exchanged);
    }
    if (added != 0u) {
        atomicAdd(&usage[0], 1u);
    }
    return seen;
}

fn slot_of(left: u32, right: u32) -> u32 {
    let mask = state[CAPACITY] - 1u;
    var slot = pair_hash(left, right) & mask;
    var found = NO_SLOT;
    for (var probe = 1u; probe <= MOST_PROBES && found == NO_SLOT; probe++) {
        if (claim(2u * slot, left + 1u) == left + 1u) {
            if (claim(2u * slot + 1u, right + 1u) == right + 1u) {
                found = slot;
            }
        }
        slot = (slot + probe) & mask;
    }
    if (found == NO_SLOT) {
        atomicStore(&usage[1], 1u);
    }
    return found;
}

// Adds a 64-bit number. Each sum of low words wraps for exactly one of the invocations that add, which carries.
fn add_to_pair(left: u32, right: u32, low: u32, high: u32) {
    let slot = slot_of(left, right);
    if (slot == NO_SLOT) {
        return;
    }
    let before = atomicAdd(&pair_counts[2u * slot], low);
    let carry = select(0u, 1u, before + low < before);
    if (high + carry != 0u) {
        atomicAdd(&pair_counts[2u * slot + 1u], high + carry);
    }
    dirty[slot / BLOCK] = 1u;
}
