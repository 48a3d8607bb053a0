//! use text masks runs
// Bits of lines (endings and the indentation behind them), and of runs of operators, which go on across lines and across
// one space.
@group(0) @binding(0) var<storage, read> cells: array<u32>;
@group(0) @binding(1) var<storage, read> sizes: array<u32>;
@group(0) @binding(2) var<storage, read_write> masks: array<u32>;
@group(0) @binding(3) var<storage, read> carries: array<u32>;

@compute @workgroup_size(256)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let i = item_number(group, groups, lane);
    if (i >= mask_words()) {
        return;
    }
    var lines = 0u;
    var operators = 0u;
    for (var bit = 0u; bit < 32u; bit++) {
        let at = i * 32u + bit;
        if (at < sizes[0]) {
            let indent = is_blank(cell_at(at)) && cell_at(before_blanks(at)) == 0x0Au;
            let line = indent || is_ending(at);
            lines |= select(0u, 1u, line) << bit;
            let between = cell_at(at) == 0x20u && is_operator(at - 1u) && is_operator(at + 1u);
            operators |= select(0u, 1u, line || between || is_operator(at)) << bit;
        }
    }
    masks[LINES * mask_words() + i] = lines;
    masks[OPERATORS * mask_words() + i] = operators;
}
