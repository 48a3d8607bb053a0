//! use text
// 1 for each place that begins a character; a byte of no character is one. One value more than there are places.
@group(0) @binding(0) var<storage, read> cells: array<u32>;
@group(0) @binding(1) var<storage, read> sizes: array<u32>;
@group(0) @binding(2) var<storage, read_write> characters: array<u32>;

@compute @workgroup_size(256)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let i = item_number(group, groups, lane);
    if (i > sizes[0]) {
        return;
    }
    characters[i] = 0u;
    if (i < sizes[0]) {
        characters[i] = select(0u, 1u, (cells[i] & (LEAD | STRAY)) != 0u);
    }
}
