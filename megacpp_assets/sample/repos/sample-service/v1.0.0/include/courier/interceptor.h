// Copyright 2026 The megacpp_assets authors.
// SPDX-License-Identifier: Apache-2.0
#ifndef COURIER_INTERCEPTOR_H_
#define COURIER_INTERCEPTOR_H_

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "courier/transport.h"

namespace courier {

/// The parts of a call that interceptors may look at and, at its start, amend.
struct CallInfo {
  std::string method;
  Metadata metadata;
};

/// Sees every call of the channel or server it is added to.
class Interceptor {
 public:
  virtual ~Interceptor() = default;
  /// An error ends the call before anybody further in hears of it.
  virtual Status OnStart(CallInfo* /*call*/) { return Status(); }
  virtual void OnFinish(const CallInfo& /*call*/, const Status& /*status*/) {}
};

/// Interceptors from the outermost to the innermost. Each one whose OnStart
/// has run also gets OnFinish, in the opposite order.
class InterceptorChain {
 public:
  void Add(std::shared_ptr<Interceptor> interceptor) {
    chain_.push_back(std::move(interceptor));
  }

  /// Sets `*entered` to the number of interceptors that were started.
  Status Start(CallInfo* call, std::size_t* entered) const {
    for (*entered = 0; *entered < chain_.size();) {
      const Status status = chain_[(*entered)++]->OnStart(call);
      if (!status.ok()) return status;
    }
    return Status();
  }

  void Finish(const CallInfo& call, const Status& status,
              std::size_t entered) const {
    while (entered > 0) chain_[--entered]->OnFinish(call, status);
  }

 private:
  std::vector<std::shared_ptr<Interceptor>> chain_;
};

}  // namespace courier

#endif  // COURIER_INTERCEPTOR_H_
