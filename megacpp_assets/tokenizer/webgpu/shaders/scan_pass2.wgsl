//! use scan
// Replaces the sums of blocks by their exclusive prefix sums: one workgroup, 256 at a time. The sum of all values goes
// to `lengths[1]` if there are values.
@group(0) @binding(0) var<storage, read_write> sums: array<u32>;
@group(0) @binding(1) var<storage, read_write> lengths: array<u32>;

@compute @workgroup_size(256)
fn main(
    @builtin(subgroup_id) subgroup: u32,
    @builtin(num_subgroups) subgroups: u32,
    @builtin(subgroup_size) subgroup_size: u32,
    @builtin(subgroup_invocation_id) subgroup_lane: u32,
) {
    let me = Subgroup(subgroup, subgroups, subgroup_size, subgroup_lane);
    let count = (lengths[0] + 255u) / 256u;
    var carry = 0u;
    for (var first = 0u; first < count; first += 256u) {
        let i = first + subgroup_position(me);
        var value = 0u;
        if (i < count) {
            value = sums[i];
        }
        let scanned = scan_workgroup(value, me);
        if (i < count) {
            sums[i] = carry + scanned.before;
        }
        carry += scanned.total;
        workgroupBarrier();
    }
    if (subgroup_position(me) == 0u && count != 0u) {
        lengths[1] = carry;
    }
}
