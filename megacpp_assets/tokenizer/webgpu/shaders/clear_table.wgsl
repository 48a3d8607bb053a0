//! use state
// Sets all counts to zero before a full count. Pairs that were dropped stay dropped.
@group(0) @binding(0) var<storage, read_write> pair_counts: array<u32>;
@group(0) @binding(1) var<storage, read_write> dirty: array<u32>;
@group(0) @binding(2) var<storage, read> state: array<u32>;

@compute @workgroup_size(256)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let slot = item_number(group, groups, lane);
    if (slot >= state[CAPACITY] || state[STOP] != RUNNING) {
        return;
    }
    dirty[slot / BLOCK] = 1u;
    let high = pair_counts[2u * slot + 1u];
    pair_counts[2u * slot] = 0u;
    pair_counts[2u * slot + 1u] = select(0u, DROPPED_HIGH, (high & 0x80000000u) != 0u);
}
