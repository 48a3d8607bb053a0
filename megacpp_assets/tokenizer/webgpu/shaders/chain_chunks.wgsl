//! use chain
// Where a chain that enters a chunk at a place leaves the chunk, for every place.
@group(0) @binding(0) var<storage, read> jumps: array<u32>;
@group(0) @binding(1) var<storage, read_write> exits: array<u32>;
@group(0) @binding(2) var<storage, read> sizes: array<u32>;

@compute @workgroup_size(256)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let chunk = group_number(group, groups);
    for (var part = 0u; part < 4u; part++) {
        let at = part * 256u + lane;
        let i = chunk * CHUNK + at;
        next_place[at] = CHUNK;
        if (i < sizes[0]) {
            next_place[at] = jumps[i] - chunk * CHUNK;
        }
    }
    workgroupBarrier();
    for (var round = 0u; round < 10u; round++) {
        double_jumps(lane);
    }
    for (var part = 0u; part < 4u; part++) {
        let at = part * 256u + lane;
        let i = chunk * CHUNK + at;
        if (i < sizes[0]) {
            exits[i] = chunk * CHUNK + next_place[at];
        }
    }
}
