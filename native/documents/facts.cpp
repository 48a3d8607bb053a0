#include "facts.hpp"

#include <array>

namespace nb = nanobind;

namespace megacpp {

namespace {

// So many answers of each kind are kept. Documents are made in file order, and what they show is mostly near.
constexpr std::size_t kMostItems = 1 << 15, kMostPassages = 1 << 13;

template <typename Value>
Value to(nb::handle value) {
  return nb::cast<Value>(value);
}

Numbers numbers_in(nb::handle found) {
  Numbers result;
  for (nb::handle each : found) result.push_back(to<std::int32_t>(each));
  return result;
}

Offer offer_of(nb::handle pair) { return {to<std::int32_t>(pair[0]), to<std::int32_t>(pair[1])}; }

std::vector<Offer> offers_in(nb::handle found) {
  std::vector<Offer> result;
  for (nb::handle each : found) result.push_back(offer_of(each));
  return result;
}

Uses uses_in(nb::handle found) {
  Uses result;
  for (auto [id, count] : nb::cast<nb::dict>(found)) result[to<std::uint64_t>(id)] = to<std::int64_t>(count);
  return result;
}

std::vector<Target> targets_of(nb::handle found) {
  std::vector<Target> result;
  for (nb::handle each : found)
    result.push_back({to<std::int32_t>(each[0]), to<std::int32_t>(each[1]), to<bool>(each[2])});
  return result;
}

nb::tuple as_tuple(const Passage& each) {
  return nb::make_tuple(each.first, each.last, each.start, each.end, each.begun);
}

}  // namespace

Passage passage_of(nb::handle place) {
  return {to<std::int32_t>(place[0]), to<std::int32_t>(place[1]), to<std::int64_t>(place[2]),
          to<std::int64_t>(place[3]), to<std::int64_t>(place[4])};
}

template <typename... Arguments>
nb::object Facts::ask(const char* name, const Arguments&... arguments) const {
  return source_.attr(name)(arguments...);
}

void Facts::limit() {
  const auto limit_all = [](std::size_t most, auto&... caches) { (caches.limit(most), ...); };
  limit_all(kMostItems, shortest_, lengths_, needed_, members_need_, body_needs_, specialised_, used_classes_,
            asked_around_, body_chars_, is_alone_, is_unusable_, is_unusable_in_c_, has_partial_, is_unresolved_,
            is_macro_, company_, bodies_, constructors_, callers_, holder_, own_, excerpt_, declaring_, pure_,
            completing_, inside_, bodies_within_, targets_, with_named_, passed_to_, named_by_);
  limit_all(kMostPassages, look_, used_, macros_, evaluated_, deduced_);
}

std::int32_t Facts::name_of(nb::handle text) {
  const std::string name = to<const char*>(text);
  const auto [place, is_new] = names_.emplace(name, static_cast<std::int32_t>(names_.size()));
  if (is_new) roles_.push_back(name.starts_with('~') ? names_.at("~") : place->second);
  return place->second;
}

Numbers Facts::names_of(nb::handle texts) {
  Numbers result;
  for (nb::handle each : texts) result.push_back(name_of(each));
  std::sort(result.begin(), result.end());
  result.erase(std::unique(result.begin(), result.end()), result.end());
  return result;
}

Numbers Facts::roles(const Numbers& names) const {
  Numbers result;
  for (const std::int32_t name : names) result.push_back(role(name));
  std::sort(result.begin(), result.end());
  return result;
}

const Shortest& Facts::shortest(Item item) {
  return shortest_.get(item, [&] {
    const nb::object found = ask("shortest", item);
    return Shortest{to<Item>(found[0]), to<std::int64_t>(found[1]), to<std::int64_t>(found[2]),
                    to<std::int32_t>(found[3]), to<bool>(found[4])};
  });
}

const Lengths& Facts::lengths(Item item) {
  return lengths_.get(item, [&] {
    const nb::object found = ask("lengths", item);
    return Lengths{to<std::int64_t>(found[0]), to<std::int64_t>(found[1]), to<std::int64_t>(found[2]),
                   to<std::int64_t>(found[3]), to<std::int32_t>(found[4])};
  });
}

const Items& Facts::needed(Item item) {
  return needed_.get(item, [&] { return numbers_in(ask("needed", item)); });
}

const Items& Facts::members_need(Item item) {
  return members_need_.get(item, [&] { return numbers_in(ask("members_need", item)); });
}

const Items& Facts::body_needs(std::int32_t chunk) {
  return body_needs_.get(chunk, [&] { return numbers_in(ask("body_needs", chunk)); });
}

std::int64_t Facts::body_chars(std::int32_t chunk) {
  return body_chars_.get(chunk, [&] { return to<std::int64_t>(ask("body_chars", chunk)); });
}

bool Facts::is_alone(Item item) {
  return is_alone_.get(item, [&] { return to<bool>(ask("is_alone", item)); });
}

Company Facts::read_company(nb::handle found) {
  return {to<bool>(found[0]),   to<bool>(found[1]),  to<bool>(found[2]),  numbers_in(found[3]),
          uses_in(found[4]),    offers_in(found[5]), to<Item>(found[6]),  uses_in(found[7]),
          numbers_in(found[8]), to<Item>(found[9]),  offers_in(found[10])};
}

const Company& Facts::company(Item item) {
  return company_.get(item, [&] { return read_company(ask("company", item)); });
}

bool Facts::is_unusable(Item item, bool is_c) {
  ByItem<bool>& known = is_c ? is_unusable_in_c_ : is_unusable_;
  return known.get(item, [&] { return to<bool>(ask("is_unusable", item, is_c)); });
}

bool Facts::has_partial(Item item) {
  return has_partial_.get(item, [&] { return to<bool>(ask("has_partial", item)); });
}

bool Facts::is_unresolved(Item item) {
  return is_unresolved_.get(item, [&] { return to<bool>(ask("is_unresolved", item)); });
}

bool Facts::is_macro(Item item) {
  return is_macro_.get(item, [&] { return to<bool>(ask("is_macro", item)); });
}

const Asked& Facts::asked_around(Item item) {
  return asked_around_.get(item, [&] {
    const nb::object found = ask("asked_around", item);
    return Asked{numbers_in(found[0]), numbers_in(found[1])};
  });
}

const Numbers& Facts::bodies(Item item) {
  return bodies_.get(item, [&] { return numbers_in(ask("bodies", item)); });
}

const Holder& Facts::holder(Item item) {
  return holder_.get(item, [&] {
    const nb::object found = ask("holder", item);
    return Holder{to<Item>(found[0]), to<bool>(found[1])};
  });
}

const Uses& Facts::own(Item item) {
  return own_.get(item, [&] { return uses_in(ask("own", item)); });
}

Excerpt Facts::read_excerpt(nb::handle found) {
  if (found.is_none()) return {};
  Excerpt result{true, to<std::int64_t>(found[0]), {}};
  for (nb::handle each : found[1])
    result.members.push_back(
        {to<std::int64_t>(each[0]), to<std::int64_t>(each[1]), name_of(each[2]), name_of(each[3]), to<bool>(each[4])});
  return result;
}

const Excerpt& Facts::excerpt(Item item) {
  return excerpt_.get(item, [&] { return read_excerpt(ask("excerpt", item)); });
}

const std::unordered_map<std::uint64_t, Numbers>& Facts::declaring(Item item) {
  return declaring_.get(item, [&] {
    std::unordered_map<std::uint64_t, Numbers> result;
    for (auto [id, numbers] : nb::cast<nb::dict>(ask("declaring", item)))
      result.emplace(to<std::uint64_t>(id), numbers_in(numbers));
    return result;
  });
}

const std::vector<Numbers>& Facts::pure(Item item) {
  return pure_.get(item, [&] {
    std::vector<Numbers> result;
    for (nb::handle each : ask("pure", item)) result.push_back(names_of(each));
    return result;
  });
}

const ByMember& Facts::completing(Item item) {
  return completing_.get(item, [&] {
    ByMember result;
    for (nb::handle each : ask("completing", item)) result.emplace_back(to<std::int32_t>(each[0]), numbers_in(each[1]));
    return result;
  });
}

const OffersByMember& Facts::inside(Item item) {
  return inside_.get(item, [&] {
    OffersByMember result;
    for (nb::handle each : ask("inside", item)) result.emplace_back(to<std::int32_t>(each[0]), offers_in(each[1]));
    return result;
  });
}

const Numbers& Facts::with_named(const Offer& offer) {
  return with_named_.get(offer, [&] { return numbers_in(ask("with_named", offer.item, offer.number)); });
}

const Items& Facts::named_by(Item item, const Numbers& members) {
  Numbers key{item};
  append(key, members);
  return named_by_.get(key, [&] {
    nb::list asked;
    for (const std::int32_t each : members) asked.append(each);
    return numbers_in(ask("named_by", item, asked));
  });
}

const Items& Facts::specialised(Item item) {
  return specialised_.get(item, [&] { return numbers_in(ask("specialised", item)); });
}

const std::vector<std::pair<std::int32_t, std::vector<Passage>>>& Facts::bodies_within(Item item) {
  return bodies_within_.get(item, [&] {
    std::vector<std::pair<std::int32_t, std::vector<Passage>>> result;
    for (nb::handle each : ask("bodies_within", item)) {
      std::vector<Passage> passages;
      for (nb::handle body : each[1]) passages.push_back(passage_of(body));
      result.emplace_back(to<std::int32_t>(each[0]), std::move(passages));
    }
    return result;
  });
}

const Items& Facts::used_classes(std::int32_t chunk) {
  return used_classes_.get(chunk, [&] { return numbers_in(ask("used_classes", chunk)); });
}

const Numbers& Facts::constructors(Item item) {
  return constructors_.get(item, [&] { return numbers_in(ask("constructors", item)); });
}

const Items& Facts::passed_to(const Offer& offer) {
  return passed_to_.get(offer, [&] { return numbers_in(ask("passed_to", offer.item, offer.number)); });
}

Look Facts::read_look(nb::handle found) {
  Look result;
  for (nb::handle each : found[0]) {
    ClassUse use{to<Item>(each[0]), to<std::int64_t>(each[1]), {}, to<bool>(each[3])};
    for (nb::handle member : each[2])
      use.members.emplace_back(to<std::int32_t>(member[0]), to<std::int64_t>(member[1]));
    result.classes.push_back(std::move(use));
  }
  result.passed = numbers_in(found[1]);
  result.overridden = offers_in(found[2]);
  result.implied = names_of(found[3]);
  return result;
}

const Look& Facts::look(const Passage& passage) {
  return look_.get(passage, [&] { return read_look(ask("look", as_tuple(passage))); });
}

const Uses& Facts::used(const Passage& passage) {
  return used_.get(passage, [&] { return uses_in(ask("used", as_tuple(passage))); });
}

const Items& Facts::macros(const Passage& passage) {
  return macros_.get(passage, [&] { return numbers_in(ask("macros", as_tuple(passage))); });
}

const Numbers& Facts::evaluated(const Passage& passage) {
  return evaluated_.get(passage, [&] { return numbers_in(ask("evaluated", as_tuple(passage))); });
}

const Numbers& Facts::deduced(const Passage& passage) {
  return deduced_.get(passage, [&] { return numbers_in(ask("deduced", as_tuple(passage))); });
}

const std::vector<Target>& Facts::targets(std::int32_t chunk) {
  return targets_.get(chunk, [&] { return targets_of(ask("targets", chunk)); });
}

std::vector<Target> Facts::targets_in(const Passage& passage) {
  return targets_of(ask("targets_in", as_tuple(passage)));
}

const Numbers& Facts::callers(std::int32_t chunk) {
  return callers_.get(chunk, [&] { return numbers_in(ask("callers", chunk)); });
}

std::int64_t Facts::chunk_chars(std::int32_t chunk) const { return to<std::int64_t>(ask("chunk_chars", chunk)); }

}  // namespace megacpp
