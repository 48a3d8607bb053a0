// Copyright 2026 The megacpp_assets authors.
// SPDX-License-Identifier: Apache-2.0

// Squares numbers on a thread pool and checks the sum against the formula.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

#include "relay/future.hpp"
#include "relay/queues.hpp"

namespace {

using Number = std::uint64_t;
using Feed = relay::SpscRing<Number, 64>;

constexpr Number kEnd = 0;

void produce(Feed* feed, Number limit) {
  for (Number n = 1; n <= limit + 1; ++n) {
    const Number item = n <= limit ? n : kEnd;
    while (!feed->tryPush(item)) std::this_thread::yield();
  }
}

Number takeOne(Feed* feed) {
  Number item;
  while (!feed->tryPop(&item)) std::this_thread::yield();
  return item;
}

relay::Future<Number> squareSum(relay::Executor* pool,
                                std::vector<Number> batch) {
  return relay::async(pool, [batch = std::move(batch)] {
    Number sum = 0;
    for (Number n : batch) sum += n * n;
    return sum;
  });
}

std::vector<relay::Future<Number>> dispatch(Feed* feed,
                                            relay::Executor* pool) {
  constexpr std::size_t kBatch = 100;
  std::vector<relay::Future<Number>> sums;
  std::vector<Number> batch;
  for (Number n = takeOne(feed); n != kEnd; n = takeOne(feed)) {
    batch.push_back(n);
    if (batch.size() == kBatch) {
      sums.push_back(squareSum(pool, std::exchange(batch, {})));
    }
  }
  sums.push_back(squareSum(pool, std::move(batch)));
  return sums;
}

}  // namespace

int main(int argc, char** argv) {
  const Number limit = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1000;
  relay::ThreadPool pool(3, 32);
  Feed feed;
  std::thread producer(produce, &feed, limit);
  const Number total =
      relay::collectAll(dispatch(&feed, &pool))
          .then([](std::vector<Number> sums) {
            Number sum = 0;
            for (Number part : sums) sum += part;
            return sum;
          })
          .get();
  producer.join();
  const Number expected = limit * (limit + 1) * (2 * limit + 1) / 6;
  std::printf("sum of squares up to %llu: %llu\n",
              static_cast<unsigned long long>(limit),
              static_cast<unsigned long long>(total));
  return total == expected ? 0 : 1;
}
