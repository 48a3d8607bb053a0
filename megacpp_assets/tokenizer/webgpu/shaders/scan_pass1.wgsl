//! use scan
// Replaces each block of 256 values by its exclusive prefix sums; the sum of each block goes to `sums`.
@group(0) @binding(0) var<storage, read_write> values: array<u32>;
@group(0) @binding(1) var<storage, read_write> sums: array<u32>;
@group(0) @binding(2) var<storage, read> lengths: array<u32>;

@compute @workgroup_size(256)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(subgroup_id) subgroup: u32,
    @builtin(num_subgroups) subgroups: u32,
    @builtin(subgroup_size) subgroup_size: u32,
    @builtin(subgroup_invocation_id) subgroup_lane: u32,
) {
    let me = Subgroup(subgroup, subgroups, subgroup_size, subgroup_lane);
    let block = group_number(group, groups);
    let i = block * 256u + subgroup_position(me);
    let inside = i < lengths[0];
    var value = 0u;
    if (inside) {
        value = values[i];
    }
    let scanned = scan_workgroup(value, me);
    if (inside) {
        values[i] = scanned.before;
    }
    if (subgroup_position(me) == 0u && block * 256u < lengths[0]) {
        sums[block] = scanned.total;
    }
}
