// Copyright 2026 The megacpp_assets authors.
// SPDX-License-Identifier: Apache-2.0
#include "courier/completion_queue.h"

#include <algorithm>

namespace courier {

void CompletionQueue::Post(std::shared_ptr<Completion> completion, bool ok) {
  // Under the lock: whoever takes the event may destroy the queue at once.
  std::lock_guard<std::mutex> lock(mutex_);
  events_.push_back({std::move(completion), ok});
  changed_.notify_one();
}

CompletionQueue::AlarmId CompletionQueue::PostAt(
    Deadline when, std::shared_ptr<Completion> completion) {
  std::lock_guard<std::mutex> lock(mutex_);
  const AlarmId id(when, next_alarm_++);
  if (!shutdown_) alarms_.emplace(id, std::move(completion));
  // A waiter may be asleep until a later alarm than this one.
  changed_.notify_all();
  return id;
}

void CompletionQueue::CancelAlarm(const AlarmId& id) {
  std::shared_ptr<Completion> dropped;
  std::lock_guard<std::mutex> lock(mutex_);
  const auto it = alarms_.find(id);
  if (it == alarms_.end()) return;
  dropped = std::move(it->second);
  alarms_.erase(it);
}

void CompletionQueue::MoveDueAlarms(Deadline now) {
  while (!alarms_.empty() && alarms_.begin()->first.first <= now) {
    events_.push_back({std::move(alarms_.begin()->second), true});
    alarms_.erase(alarms_.begin());
  }
}

CompletionQueue::Result CompletionQueue::Take(Deadline deadline,
                                              Event* event) {
  std::unique_lock<std::mutex> lock(mutex_);
  for (;;) {
    const Deadline now = Clock::now();
    MoveDueAlarms(now);
    if (!events_.empty()) {
      *event = std::move(events_.front());
      events_.pop_front();
      return Result::kEvent;
    }
    if (shutdown_) return Result::kShutdown;
    if (now >= deadline) return Result::kTimeout;
    const Deadline wake = alarms_.empty()
                              ? deadline
                              : std::min(deadline, alarms_.begin()->first.first);
    if (wake == NoDeadline()) {
      changed_.wait(lock);
    } else {
      changed_.wait_until(lock, wake);
    }
  }
}

CompletionQueue::Result CompletionQueue::NextUntil(Deadline deadline,
                                                   void** tag, bool* ok) {
  Event event;
  for (;;) {
    const Result result = Take(deadline, &event);
    if (result != Result::kEvent) return result;
    *ok = event.ok;
    if (event.completion->Finalize(tag, ok)) return result;
  }
}

void CompletionQueue::Shutdown() {
  std::map<AlarmId, std::shared_ptr<Completion>> dropped;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    shutdown_ = true;
    dropped.swap(alarms_);
  }
  changed_.notify_all();
}

}  // namespace courier
