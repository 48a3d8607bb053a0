//! use state roles scan
// Marks each symbol that stays (bit 0) and each that the product replaces (bit 1), and counts those that stay by block.
@group(0) @binding(0) var<storage, read> symbols: array<u32>;
@group(0) @binding(1) var<storage, read> run_roles: array<u32>;
@group(0) @binding(2) var<storage, read_write> valid_mask: array<u32>;
@group(0) @binding(3) var<storage, read_write> block_sums: array<u32>;
@group(0) @binding(4) var<storage, read> state: array<u32>;

@compute @workgroup_size(256)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(subgroup_id) subgroup: u32,
    @builtin(num_subgroups) subgroups: u32,
    @builtin(subgroup_size) subgroup_size: u32,
    @builtin(subgroup_invocation_id) subgroup_lane: u32,
) {
    if (state[ACTIVE] == 0u) {
        return;
    }
    let me = Subgroup(subgroup, subgroups, subgroup_size, subgroup_lane);
    let block = group_number(group, groups);
    let i = block * 256u + subgroup_position(me);
    var valid = 0u;
    if (i < state[SIZE]) {
        let role = role_of(i);
        valid = select(1u, 0u, role == ENDS);
        valid_mask[i] = valid | select(0u, 2u, role == BEGINS);
    }
    let total = scan_workgroup(valid, me).total;
    if (subgroup_position(me) == 0u && block * 256u < state[SIZE]) {
        block_sums[block] = total;
    }
}
