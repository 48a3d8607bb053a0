//! use state best
// The best pair of each block of 1,024 slots that changed, four slots an invocation.
@group(0) @binding(0) var<storage, read> pair_counts: array<u32>;
@group(0) @binding(1) var<storage, read> pair_ids: array<u32>;
@group(0) @binding(2) var<storage, read_write> dirty: array<u32>;
@group(0) @binding(3) var<storage, read_write> block_best: array<Best>;
@group(0) @binding(4) var<storage, read> state: array<u32>;

var<workgroup> changed: u32;

@compute @workgroup_size(256)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let block = group_number(group, groups);
    if (lane == 0u) {
        changed = 0u;
        if (block * BLOCK < state[CAPACITY] && state[STOP] == RUNNING) {
            changed = dirty[block];
        }
    }
    if (workgroupUniformLoad(&changed) == 0u) {
        return;
    }
    var best = no_best();
    for (var part = 0u; part < 4u; part++) {
        let slot = block * BLOCK + part * 256u + lane;
        let one = Best(
            bitcast<i32>(pair_counts[2u * slot + 1u]),
            pair_counts[2u * slot],
            pair_ids[2u * slot] - 1u,
            pair_ids[2u * slot + 1u] - 1u,
            slot,
        );
        if (precedes(one, best)) {
            best = one;
        }
    }
    best = best_of_workgroup(best, lane);
    if (lane == 0u) {
        block_best[block] = best;
        dirty[block] = 0u;
    }
}
