// Where the run at the begin of each block of 256 places ends. A workgroup takes one kind of runs, from `which[0]` on; an
// invocation takes blocks that follow each other, then what comes behind them from the invocations behind it.
@group(0) @binding(0) var<storage, read> masks: array<u32>;
@group(0) @binding(1) var<storage, read_write> carries: array<u32>;
@group(0) @binding(2) var<storage, read> sizes: array<u32>;
@group(0) @binding(3) var<storage, read> which: array<u32>;

const NONE: u32 = 0xFFFFFFFFu;
const BLANK: u32 = 0u;
const BLANK_BEGIN: u32 = 5u;
var<workgroup> firsts: array<u32, 256>;
var<workgroup> lasts: array<u32, 256>;

fn first_outside(kind: u32, block: u32, words: u32) -> u32 {
    for (var word = block * 8u; word < min(block * 8u + 8u, words); word++) {
        let outside = ~masks[kind * words + word];
        if (outside != 0u) {
            return min(sizes[0], word * 32u + countTrailingZeros(outside));
        }
    }
    return NONE;
}

fn last_outside(kind: u32, block: u32, words: u32) -> u32 {
    for (var word = min(block * 8u + 8u, words); word > block * 8u; word--) {
        let outside = ~masks[kind * words + word - 1u];
        if (outside != 0u) {
            return word * 32u - 1u - countLeadingZeros(outside);
        }
    }
    return NONE;
}

@compute @workgroup_size(256)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let kind = which[0] + group_number(group, groups);
    let words = (sizes[0] + 31u) / 32u;
    let blocks = (sizes[0] + 255u) / 256u;
    let share = (blocks + 255u) / 256u;
    let begin = min(lane * share, blocks);
    let end = min(begin + share, blocks);
    let base = kind * (blocks + 1u);
    let back = BLANK_BEGIN * (blocks + 1u);
    var first = NONE;
    for (var block = end; block > begin; block--) {
        let found = first_outside(kind, block - 1u, words);
        first = select(found, first, found == NONE);
        carries[base + block - 1u] = first;
    }
    var last = NONE;
    if (kind == BLANK) {
        for (var block = begin; block < end; block++) {
            carries[back + block] = last;
            let found = last_outside(kind, block, words);
            last = select(found, last, found == NONE);
        }
    }
    firsts[lane] = first;
    lasts[lane] = last;
    workgroupBarrier();
    var behind = sizes[0];
    for (var other = 255u; other > lane; other--) {
        behind = select(firsts[other], behind, firsts[other] == NONE);
    }
    var before = NONE;
    for (var other = 0u; other < lane; other++) {
        before = select(lasts[other], before, lasts[other] == NONE);
    }
    for (var block = begin; block < end; block++) {
        if (carries[base + block] == NONE) {
            carries[base + block] = behind;
        }
        if (kind == BLANK && carries[back + block] == NONE) {
            carries[back + block] = before;
        }
    }
    if (lane == 0u) {
        carries[base + blocks] = sizes[0];
    }
}
