// Python's view of the kernels. Texts come in as str, bytes or Arrow buffers; tokens go out as numpy arrays.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/array.h>
#include <nanobind/stl/function.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cctype>
#include <map>
#include <mutex>
#include <optional>

#include "counter.hpp"
#include "encoder.hpp"
#include "splitter.hpp"
#include "trainer.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using namespace megacpp;

namespace {

template <class T>
using Array = nb::ndarray<nb::numpy, T, nb::ndim<1>>;
template <class T>
using Input = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

template <class T>
Array<T> own(T* data, std::size_t size) {
  nb::capsule owner(data == nullptr ? ResultMemory::allocate(1) : data,
                    [](void* p) noexcept { ResultMemory::free(p); });
  return Array<T>(owner.data(), {size}, owner);
}

template <class T>
Array<T> copy(const std::vector<T>& values) {
  auto* data = static_cast<T*>(ResultMemory::allocate(values.size() * sizeof(T)));
  std::copy(values.begin(), values.end(), data);
  return own(data, values.size());
}

// Views of a sequence of str or bytes. The tuple keeps the objects alive while other threads read them.
struct Views {
  nb::tuple objects;
  std::vector<std::string_view> texts;

  explicit Views(nb::handle sequence) : objects(nb::steal<nb::tuple>(PySequence_Tuple(sequence.ptr()))) {
    if (!objects.is_valid()) throw nb::python_error();
    for (const nb::handle item : objects) {
      Py_ssize_t size = 0;
      const char* data;
      if (PyBytes_Check(item.ptr())) {
        data = PyBytes_AS_STRING(item.ptr());
        size = PyBytes_GET_SIZE(item.ptr());
      } else if (data = PyUnicode_AsUTF8AndSize(item.ptr(), &size); data == nullptr) {
        throw nb::python_error();
      }
      texts.emplace_back(data, static_cast<std::size_t>(size));
    }
  }
};

nb::tuple as_tuple(Tokens&& tokens) {
  return nb::make_tuple(own(tokens.ids.release(), tokens.size), own(tokens.starts.release(), tokens.size),
                        own(tokens.ends.release(), tokens.size), copy(tokens.offsets));
}

void check_sizes(const std::vector<std::string_view>& texts) {
  for (const auto& text : texts)
    if (text.size() > 0x7FFFFFFF) throw nb::value_error("a text of more than 2 GiB has no 32-bit offsets");
}

// Keeps the splitter alive, and lets one call at a time use the caches.
struct PyEncoder {
  nb::object keep;
  Encoder encoder;
  std::mutex busy;

  Tokens encode(const std::vector<std::string_view>& texts, unsigned threads, bool spans) {
    check_sizes(texts);
    nb::gil_scoped_release release;
    const std::lock_guard<std::mutex> lock(busy);
    return encoder.encode(texts, threads, spans);
  }
};

// Words laid end to end are what `add_words` takes and `dump` gives.
void add_words(Counter& counter, const nb::bytes& data, const Input<std::uint32_t>& lengths,
               const Input<std::int64_t>& counts) {
  if (lengths.size() != counts.size()) throw nb::value_error("as many word lengths as counts are needed");
  std::size_t total = 0;
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    if (lengths.data()[i] == 0 || counts.data()[i] < 1) throw nb::value_error("a word needs a byte and an occurrence");
    total += lengths.data()[i];
  }
  if (total != data.size()) throw nb::value_error("word lengths do not fit their data");
  const char* p = data.c_str();
  nb::gil_scoped_release release;
  for (std::size_t i = 0; i < lengths.size(); p += lengths.data()[i], ++i)
    counter.add_word({p, lengths.data()[i]}, counts.data()[i]);
}

nb::tuple dump(Counter& counter) {
  std::string data;
  std::vector<std::uint32_t> lengths;
  std::vector<std::int64_t> counts;
  {
    nb::gil_scoped_release release;
    counter.fold().each([&](std::string_view word, std::int64_t count) {
      data.append(word);
      lengths.push_back(static_cast<std::uint32_t>(word.size()));
      counts.push_back(count);
    });
  }
  return nb::make_tuple(nb::bytes(data.data(), data.size()), copy(lengths), copy(counts));
}

nb::dict train_counts(Counter& counter, std::uint64_t new_tokens, std::int64_t min_count,
                      const std::vector<nb::bytes>& known, const std::vector<nb::bytes>& forbidden,
                      const std::optional<nb::callable>& progress) {
  TrainOptions options;
  options.new_tokens = new_tokens;
  options.min_count = min_count;
  for (const auto& text : known) options.known.emplace(text.c_str(), text.size());
  for (const auto& text : forbidden) options.forbidden.emplace(text.c_str(), text.size());
  TrainProgress report;
  if (progress)
    report = [&](std::uint64_t done, std::uint64_t total) {
      nb::gil_scoped_acquire acquire;
      (*progress)(done, total);
    };
  TrainResult result;
  {
    nb::gil_scoped_release release;
    result = train(counter.fold(), options, report);
  }
  nb::dict out;
  out["left"] = copy(result.left);
  out["right"] = copy(result.right);
  out["product"] = copy(result.product);
  out["counts"] = copy(result.counts);
  out["largest_count"] = result.largest_count;
  out["dropped"] = result.dropped;
  return out;
}

// What a word is, by its first character that is not its leading space.
const char* kind_of(std::string_view word) {
  const auto c = static_cast<Byte>(word.size() > 1 && word[0] == ' ' ? word[1] : word[0]);
  if (c >= 0x80) return "wide";
  if (std::isalpha(c) || c == '_') return "identifier";
  if (std::isdigit(c)) return "number";
  return std::isspace(c) ? "blank" : "operator";
}

// Kind -> (words, tokens, bytes) over the counted words.
nb::dict fertility(PyEncoder& self, Counter& counter) {
  std::map<std::string, std::array<std::uint64_t, 3>> totals;
  {
    nb::gil_scoped_release release;
    const std::lock_guard<std::mutex> lock(self.busy);
    counter.fold().each([&](std::string_view word, std::int64_t count) {
      auto& total = totals[kind_of(word)];
      const auto times = static_cast<std::uint64_t>(count);
      total[0] += times;
      total[1] += times * self.encoder.count_tokens(word);
      total[2] += times * word.size();
    });
  }
  nb::dict out;
  for (const auto& [kind, total] : totals) out[kind.c_str()] = nb::make_tuple(total[0], total[1], total[2]);
  return out;
}

nb::list split_pieces(const Splitter& splitter, const nb::bytes& text) {
  nb::list pieces;
  const auto* p = reinterpret_cast<const Byte*>(text.c_str());
  const auto add = [&](const Byte* start, std::size_t length) {
    pieces.append(nb::bytes(reinterpret_cast<const char*>(start), length));
  };
  splitter.split(
      p, p + text.size(),
      [&](const Byte* start, const Byte* const* ends, std::size_t count) {
        for (std::size_t i = 0; i < count; start = ends[i++]) add(start, static_cast<std::size_t>(ends[i] - start));
      },
      [&](std::size_t, const Byte* start, std::size_t length) { add(start, length); },
      [&](const Byte* stray) { add(stray, 1); });
  return pieces;
}

}  // namespace

NB_MODULE(_bpe, m) {
  m.doc() = "Word splitter, word counter, merge trainer and exact encoder.";
  m.def("alphabet_id", &alphabet_id, "byte"_a, "Trainer id of a byte.");

  nb::class_<Splitter>(m, "Splitter")
      .def(
          "__init__",
          [](Splitter* self, const std::array<bool, 7>& flags, const std::vector<std::array<std::uint32_t, 3>>& classes,
             std::vector<std::string> guards, const std::vector<std::string>& directives,
             const std::vector<std::string>& commands, std::vector<std::string> operators) {
            const Rules rules{flags[0], flags[1], flags[2], flags[3], flags[4], flags[5], flags[6]};
            new (self) Splitter(rules, classes, std::move(guards), directives, commands, std::move(operators));
          },
          "flags"_a, "classes"_a, "guards"_a, "directives"_a, "commands"_a, "operators"_a)
      .def("split", &split_pieces, "text"_a, "Words, guards and stray bytes of `text`, in order.");

  nb::class_<Counter>(m, "Counter")
      .def(nb::init<const Splitter&>(), "splitter"_a, nb::keep_alive<1, 2>())
      .def(
          "add",
          [](Counter& self, nb::handle texts, unsigned threads) {
            const Views views(texts);
            nb::gil_scoped_release release;
            self.add(views.texts, std::max(1u, threads));
          },
          "texts"_a, "threads"_a = 1, "Count the words of `texts`.")
      .def("add_words", &add_words, "data"_a, "lengths"_a, "counts"_a,
           "Add words that are split already, laid end to end, each seen so often.")
      .def("dump", &dump, "(data, lengths, counts) of all words, in no fixed order.")
      .def_prop_ro("unique", [](Counter& self) { return self.fold().size(); })
      .def_prop_ro("bytes", &Counter::bytes)
      .def_prop_ro("words", &Counter::words)
      .def("train", &train_counts, "new_tokens"_a, "min_count"_a = 1, "known"_a = nb::list(),
           "forbidden"_a = nb::list(), "progress"_a = nb::none(), "Merges over the counted words.");

  nb::class_<PyEncoder>(m, "Encoder")
      .def(
          "__init__",
          [](PyEncoder* self, const nb::object& splitter, const std::vector<nb::bytes>& tokens,
             std::vector<std::uint32_t> reachable, const Input<std::uint32_t>& left, const Input<std::uint32_t>& right,
             const Input<std::uint32_t>& product, std::vector<std::uint32_t> guard_ids, std::uint32_t bos,
             std::uint32_t first_ordinary, unsigned threads) {
            Vocabulary v;
            for (const auto& token : tokens) v.tokens.emplace_back(token.c_str(), token.size());
            v.reachable = std::move(reachable);
            v.left.assign(left.data(), left.data() + left.size());
            v.right.assign(right.data(), right.data() + right.size());
            v.product.assign(product.data(), product.data() + product.size());
            v.guard_ids = std::move(guard_ids);
            v.bos = bos;
            v.first_ordinary = first_ordinary;
            new (self) PyEncoder{splitter, Encoder(nb::cast<const Splitter&>(splitter), std::move(v), threads), {}};
          },
          "splitter"_a, "tokens"_a, "reachable"_a, "left"_a, "right"_a, "product"_a, "guard_ids"_a, "bos"_a,
          "first_ordinary"_a, "threads"_a = 1)
      .def(
          "encode",
          [](PyEncoder& self, nb::handle texts, unsigned threads) {
            const Views views(texts);
            return as_tuple(self.encode(views.texts, threads, true));
          },
          "texts"_a, "threads"_a = 1, "(ids, char starts, char ends, document offsets) of str or bytes.")
      .def(
          "encode_ids",
          [](PyEncoder& self, nb::handle texts, unsigned threads) {
            const Views views(texts);
            Tokens tokens = self.encode(views.texts, threads, false);
            return nb::make_tuple(own(tokens.ids.release(), tokens.size), copy(tokens.offsets));
          },
          "texts"_a, "threads"_a = 1, "(ids, document offsets) of str or bytes.")
      .def(
          "encode_buffers",
          [](PyEncoder& self, const Input<std::uint8_t>& data, const Input<std::int64_t>& offsets, unsigned threads) {
            std::vector<std::string_view> texts;
            const auto* base = reinterpret_cast<const char*>(data.data());
            for (std::size_t i = 0; i + 1 < offsets.size(); ++i) {
              const std::int64_t start = offsets.data()[i], end = offsets.data()[i + 1];
              if (start < 0 || end < start || static_cast<std::size_t>(end) > data.size())
                throw nb::value_error("text offsets do not fit their data");
              texts.emplace_back(base + start, static_cast<std::size_t>(end - start));
            }
            return as_tuple(self.encode(texts, threads, true));
          },
          "data"_a, "offsets"_a, "threads"_a = 1, "As `encode`, of texts laid end to end.")
      .def("fertility", &fertility, "counter"_a, "Kind of word -> (words, tokens, bytes) over a counter's words.")
      .def(
          "decode",
          [](const PyEncoder& self, const Input<std::uint32_t>& ids) {
            const std::string text = self.encoder.decode(ids.data(), ids.size());
            return nb::bytes(text.data(), text.size());
          },
          "ids"_a, "Bytes of `ids`, special tokens left out; IndexError for an unknown id.");
}
