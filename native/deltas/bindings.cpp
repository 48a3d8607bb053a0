// The Python extension `megacpp_assets.storage._deltas`: an object of a git pack from its base and its delta.
#include <nanobind/nanobind.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <stdexcept>

namespace nb = nanobind;

namespace {

// Reads a delta. Every place is checked: a damaged pack must not read or write elsewhere.
class Delta {
 public:
  explicit Delta(const nb::bytes& delta)
      : bytes_(static_cast<const unsigned char*>(delta.data())), end_(delta.size()) {}

  bool more() const { return at_ < end_; }
  unsigned char byte() {
    if (at_ == end_) throw std::invalid_argument("a whole delta");
    return bytes_[at_++];
  }
  std::size_t size() {
    std::size_t value = 0;
    for (unsigned shift = 0; shift < 63; shift += 7) {
      const unsigned char part = byte();
      value |= static_cast<std::size_t>(part & 127U) << shift;
      if (part < 128) return value;
    }
    throw std::invalid_argument("a size in a delta");
  }
  // A number of which `flags` says which of its bytes follow.
  std::size_t number(unsigned flags, unsigned count) {
    std::size_t value = 0;
    for (unsigned place = 0; place < count; ++place)
      if (flags >> place & 1U) value |= static_cast<std::size_t>(byte()) << 8 * place;
    return value;
  }
  const unsigned char* take(std::size_t count) {
    if (count > end_ - at_) throw std::invalid_argument("a whole delta");
    at_ += count;
    return bytes_ + at_ - count;
  }

 private:
  const unsigned char* bytes_;
  std::size_t end_, at_ = 0;
};

constexpr std::size_t all_of_64_kib = 0x10000;

nb::bytes apply(const nb::bytes& base, const nb::bytes& delta) {
  Delta steps(delta);
  if (steps.size() != base.size()) throw std::invalid_argument("the base of this delta");
  std::size_t left = steps.size();
  PyObject* made = PyBytes_FromStringAndSize(nullptr, static_cast<Py_ssize_t>(left));
  if (!made) throw nb::python_error();
  nb::bytes result = nb::steal<nb::bytes>(made);
  char* to = PyBytes_AS_STRING(made);
  while (steps.more()) {
    const unsigned step = steps.byte();
    const bool copies = step & 128U;
    std::size_t from = 0, count = step;
    if (copies) {
      from = steps.number(step, 4);
      count = steps.number(step >> 4, 3);
      if (count == 0) count = all_of_64_kib;
      if (from > base.size() || count > base.size() - from) throw std::invalid_argument("a copy within the base");
    } else if (step == 0) {
      throw std::invalid_argument("a known step in a delta");
    }
    if (count > left) throw std::invalid_argument("a result of the size that the delta says");
    std::memcpy(to, copies ? static_cast<const unsigned char*>(base.data()) + from : steps.take(count), count);
    to += count, left -= count;
  }
  if (left) throw std::invalid_argument("a result of the size that the delta says");
  return result;
}

}  // namespace

NB_MODULE(_deltas, module) { module.def("apply_delta", &apply, nb::arg("base"), nb::arg("delta")); }
