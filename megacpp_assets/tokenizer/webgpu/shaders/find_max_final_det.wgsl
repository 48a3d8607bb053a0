//! use state best
// The best pair of all blocks. The order of pairs is total, so the outcome depends on no order of invocations.
@group(0) @binding(0) var<storage, read> block_best: array<Best>;
@group(0) @binding(1) var<storage, read_write> chosen: array<Best>;
@group(0) @binding(2) var<storage, read> state: array<u32>;

@compute @workgroup_size(256)
fn main(@builtin(local_invocation_index) lane: u32) {
    var best = no_best();
    for (var block = lane; block < state[CAPACITY] / BLOCK; block += 256u) {
        if (precedes(block_best[block], best)) {
            best = block_best[block];
        }
    }
    best = best_of_workgroup(best, lane);
    if (lane == 0u) {
        chosen[0] = best;
    }
}
