// A chain of jumps that all lead forward, in chunks of 1,024 places, four for each invocation. `next_place` holds where
// a place leads to, from the begin of the chunk on; each round doubles how many jumps that is.
const CHUNK: u32 = 1024u;
var<workgroup> next_place: array<u32, CHUNK>;

fn double_jumps(lane: u32) {
    var further: array<u32, 4>;
    for (var part = 0u; part < 4u; part++) {
        let to = next_place[part * 256u + lane];
        further[part] = select(to, next_place[min(to, CHUNK - 1u)], to < CHUNK);
    }
    workgroupBarrier();
    for (var part = 0u; part < 4u; part++) {
        next_place[part * 256u + lane] = further[part];
    }
    workgroupBarrier();
}
