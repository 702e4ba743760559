#pragma once

#include <vector>

namespace acme {

// probs[r, :] = softmax(logits[r, :]), row by row; both are device pointers.
void softmax(const float* logits, float* probs, int rows, int cols);

// The same on the host's memory.
std::vector<float> softmax_on_host(const std::vector<float>& logits, int rows, int cols);

}  // namespace acme
