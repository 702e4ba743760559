#include <cmath>
#include <cstdio>

#include "acme/softmax.h"

int main() {
    const int rows = 1000, cols = 777;
    std::vector<float> logits(static_cast<size_t>(rows) * cols);
    for (size_t i = 0; i < logits.size(); ++i) logits[i] = std::sin(0.37f * static_cast<float>(i));
    const std::vector<float> probs = acme::softmax_on_host(logits, rows, cols);
    int wrong = 0;
    for (int r = 0; r < rows; ++r) {
        double sum = 0.0;
        for (int c = 0; c < cols; ++c) sum += probs[static_cast<size_t>(r) * cols + c];
        wrong += !(std::fabs(sum - 1.0) < 1e-4);
    }
    std::printf("%d of %d rows wrong\n", wrong, rows);
    return wrong != 0;
}
