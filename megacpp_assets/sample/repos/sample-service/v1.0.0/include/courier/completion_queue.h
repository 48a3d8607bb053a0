// Copyright 2026 The megacpp_assets authors.
// SPDX-License-Identifier: Apache-2.0
#ifndef COURIER_COMPLETION_QUEUE_H_
#define COURIER_COMPLETION_QUEUE_H_

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <utility>

namespace courier {

using Clock = std::chrono::steady_clock;
using Deadline = Clock::time_point;

inline Deadline NoDeadline() { return Deadline::max(); }
inline Deadline After(std::chrono::milliseconds delay) {
  return Clock::now() + delay;
}

/// An operation whose end is announced on a queue.
class Completion {
 public:
  virtual ~Completion() = default;

  /// Called on the thread that takes the event off the queue. Sets the tag
  /// the caller is to see; false keeps the event from the caller altogether.
  virtual bool Finalize(void** tag, bool* ok) = 0;
};

/// Where the ends of operations are waited for. Any thread may post, and any
/// number of threads may wait.
class CompletionQueue {
 public:
  enum class Result { kEvent, kTimeout, kShutdown };
  using AlarmId = std::pair<Deadline, std::uint64_t>;

  void Post(std::shared_ptr<Completion> completion, bool ok);

  /// Posts once `when` has come.
  AlarmId PostAt(Deadline when, std::shared_ptr<Completion> completion);
  void CancelAlarm(const AlarmId& id);

  Result NextUntil(Deadline deadline, void** tag, bool* ok);
  /// Waits as long as it takes. False once shut down and drained.
  bool Next(void** tag, bool* ok) {
    return NextUntil(NoDeadline(), tag, ok) == Result::kEvent;
  }

  /// Drops pending alarms; events already posted can still be taken.
  void Shutdown();

 private:
  struct Event {
    std::shared_ptr<Completion> completion;
    bool ok;
  };

  Result Take(Deadline deadline, Event* event);
  void MoveDueAlarms(Deadline now);

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Event> events_;
  std::map<AlarmId, std::shared_ptr<Completion>> alarms_;
  std::uint64_t next_alarm_ = 0;
  bool shutdown_ = false;
};

}  // namespace courier

#endif  // COURIER_COMPLETION_QUEUE_H_
