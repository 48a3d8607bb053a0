// Copyright 2026 The megacpp_assets authors.
// SPDX-License-Identifier: Apache-2.0
#include "granary/status.h"

#include <cstdio>
#include <cstdlib>

namespace granary {

std::string_view StatusCodeName(StatusCode code) {
  switch (code) {
    case StatusCode::kOk:
      return "OK";
    case StatusCode::kInvalidArgument:
      return "INVALID_ARGUMENT";
    case StatusCode::kNotFound:
      return "NOT_FOUND";
    case StatusCode::kAlreadyExists:
      return "ALREADY_EXISTS";
    case StatusCode::kOutOfRange:
      return "OUT_OF_RANGE";
    case StatusCode::kFailedPrecondition:
      return "FAILED_PRECONDITION";
    case StatusCode::kInternal:
      return "INTERNAL";
  }
  return "UNKNOWN";
}

Status::Status(StatusCode code, std::string_view message)
    : code_(code), message_(code == StatusCode::kOk ? "" : message) {}

std::string Status::ToString() const {
  std::string text(StatusCodeName(code_));
  if (!message_.empty()) text += ": " + message_;
  return text;
}

void Status::Update(const Status& other) {
  if (ok()) *this = other;
}

Status InvalidArgumentError(std::string_view message) {
  return Status(StatusCode::kInvalidArgument, message);
}

Status NotFoundError(std::string_view message) {
  return Status(StatusCode::kNotFound, message);
}

Status OutOfRangeError(std::string_view message) {
  return Status(StatusCode::kOutOfRange, message);
}

namespace internal {

void CrashOnBadAccess(const Status& status) {
  std::fprintf(stderr, "value of a StatusOr that holds %s\n",
               status.ToString().c_str());
  std::abort();
}

}  // namespace internal
}  // namespace granary
