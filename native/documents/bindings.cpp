// The Python extension `megacpp_assets.semantic.documents.context._search`.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "search.hpp"

namespace nb = nanobind;
using namespace megacpp;

namespace {

using Column = nb::ndarray<const std::int32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

Items items_of(const Column& column) { return {column.data(), column.data() + column.size()}; }

nb::dict as_dict(const std::map<double, std::int64_t>& taken) {
  nb::dict result;
  for (const auto& [step, chars] : taken) result[nb::float_(step)] = chars;
  return result;
}

// The search of one repository, with the sets of items that limits name.
class ContextSearch {
 public:
  ContextSearch(nb::object facts, const Column& items, const Column& ends, int declarations, int bodies, bool callers)
      : search_(Facts(std::move(facts), items_of(items), items_of(ends)), {declarations, bodies, callers}) {}

  // See `_search.pyi`.
  nb::tuple choose(const nb::list& roots, const nb::list& opened, std::pair<std::int64_t, std::int64_t> room,
                   Prices& price, const nb::tuple& limits, bool is_c) {
    std::vector<Passage> passages;
    for (nb::handle each : roots) passages.push_back(passage_of(each));
    std::vector<Opened> parts;
    for (nb::handle each : opened) parts.push_back({nb::cast<Item>(each[0]), nb::cast<Numbers>(each[1])});
    Room left{room.first, room.second};
    const Limits chosen{flags(limits[0]), flags(limits[1]), flags(limits[2]), is_c};
    search_.choose(passages, parts, left, price, chosen);
    nb::list members;
    for (const Item item : search_.state().with_members())
      members.append(nb::make_tuple(item, search_.state().members(item)));
    return nb::make_tuple(shown(), members, as_dict(search_.completed()), search_.has_partial());
  }

  std::int64_t chars(Item item, const Numbers& members, const Numbers& shown) {
    return search_.chars_of(item, members, shown);
  }

 private:
  struct Known {
    nb::object set;
    std::shared_ptr<Flags> flags;
  };

  // Flags of a frozenset of items. The last few are kept, because documents share them.
  const Flags* flags(nb::handle set) {
    const auto place = std::find_if(known_.begin(), known_.end(), [&](const Known& each) { return each.set.is(set); });
    if (place != known_.end()) {
      std::rotate(place, place + 1, known_.end());
      return known_.back().flags.get();
    }
    if (known_.size() == kMostSets) known_.erase(known_.begin());
    auto made = std::make_shared<Flags>(search_.facts().chunks(), false);
    for (nb::handle item : set) (*made)[nb::cast<Item>(item[0])] = true;
    known_.push_back({nb::borrow(set), std::move(made)});
    return known_.back().flags.get();
  }

  // (item, distance, shown bodies, whether only the head or some members are shown)
  nb::list shown() const {
    const State& state = search_.state();
    nb::list result;
    for (const Item item : state.order())
      result.append(nb::make_tuple(item, state.distance(item), state.whole(item), state.is_head(item)));
    return result;
  }

  static constexpr std::size_t kMostSets = 8;
  Search search_;
  std::vector<Known> known_;
};

}  // namespace

// The macro has the module by value, and classes only read it.
NB_MODULE(_search, module) {  // NOLINT(performance-unnecessary-value-param)
  nb::class_<Prices>(module, "Price")
      .def(nb::init<double, std::int64_t>(), nb::arg("least"), nb::arg("spare"))
      .def("is_affordable", &Prices::is_affordable, nb::arg("worth"), nb::arg("chars"))
      .def("take", &Prices::take, nb::arg("worth"), nb::arg("chars"))
      .def_prop_ro("taken", [](const Prices& prices) { return as_dict(prices.taken); });
  nb::class_<ContextSearch>(module, "ContextSearch")
      .def(nb::init<nb::object, const Column&, const Column&, int, int, bool>(), nb::arg("facts"), nb::arg("items"),
           nb::arg("ends"), nb::arg("declarations"), nb::arg("bodies"), nb::arg("callers"))
      .def("choose", &ContextSearch::choose, nb::arg("roots"), nb::arg("opened"), nb::arg("room"), nb::arg("price"),
           nb::arg("limits"), nb::arg("is_c"))
      .def("chars", &ContextSearch::chars, nb::arg("item"), nb::arg("members"), nb::arg("shown"));
}
