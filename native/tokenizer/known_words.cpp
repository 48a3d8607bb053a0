// How one store of known words follows another.
#include "known_words.hpp"

#include <new>
#include <stdexcept>

namespace megacpp {

namespace {
// What `make` gives, or null if there is no memory for it: then the old store stays, and words without room are merged each
// time.
template <class Make>
std::shared_ptr<WordStore> unless_out_of_memory(const Make& make) {
  try {
    return make();
  } catch (const std::bad_alloc&) { return nullptr; }
}
}  // namespace

KnownWords::KnownWords(std::size_t words, Seed seed)
    : words_(words), seed_(std::move(seed)), store_(first()), first_memory_(store_->memory()) {}

std::shared_ptr<WordStore> KnownWords::first() const {
  for (unsigned larger = 0; larger < 8; ++larger) {
    auto store = std::make_shared<WordStore>(words_ << larger);
    WordWriter writer;
    if (seed_(*store, writer)) return store;
  }
  throw std::invalid_argument("too many words of the vocabulary have one hash");
}

void KnownWords::replace(std::shared_ptr<WordStore> store) {
  if (store == nullptr) return;
  store_ = std::move(store);
  version_.fetch_add(1, std::memory_order_release);
}

KnownWords::View::View(KnownWords& all) : all_(all) { take(std::unique_lock(all.mutex_)); }

void KnownWords::View::take(std::unique_lock<std::mutex>) {
  if (store_ == nullptr || !store_->has_arena_of(*all_.store_)) writer_.arena = {};
  store_ = all_.store_;
  version_ = all_.version_.load(std::memory_order_relaxed);
}

void KnownWords::View::grow() {
  std::unique_lock lock(all_.mutex_, std::try_to_lock);
  if (!lock) return;  // another thread makes the larger one
  if (store_ == all_.store_) all_.replace(unless_out_of_memory([&] { return std::make_shared<WordStore>(*store_); }));
  take(std::move(lock));
}

void KnownWords::View::limit() {
  refresh();
  if (store_->memory() <= all_.first_memory_ + kMostLearned) return;
  std::unique_lock lock(all_.mutex_);
  if (store_ == all_.store_) all_.replace(unless_out_of_memory([&] { return all_.first(); }));
  take(std::move(lock));
}

}  // namespace megacpp
