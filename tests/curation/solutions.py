"""A solution of HumanEval-X, as a file that copies it has it."""

INTERSPERSE = """\
std::vector<int> intersperse(std::vector<int> numbers, int delimeter) {
    std::vector<int> out = {};
    if (numbers.size() > 0) out.push_back(numbers[0]);
    for (int i = 1; i < numbers.size(); i++) {
        out.push_back(delimeter);
        out.push_back(numbers[i]);
    }
    return out;
}
"""
