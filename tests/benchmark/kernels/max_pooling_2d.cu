// Maxima of windows: nothing is rounded, so any order gives the same bits.

struct Window {
    T* output;
    const T* input;
    int C, H, W, kernel, stride, padding;
    int height, width;  // of the output
    float start;        // what a maximum begins with
    __device__ float over(long long o, int rows, int cols, bool backwards) const {
        const long long plane = o / ((long long)height * width);
        const int h = (int)(o / width % height) * stride - padding, w = (int)(o % width) * stride - padding;
        float largest = start;
        for (int n = 0; n < rows * cols; ++n) {
            const int at = backwards ? rows * cols - 1 - n : n, i = h + at / cols, j = w + at % cols;
            if (i >= 0 && i < H && j >= 0 && j < W) largest = fmaxf(largest, get(input[(plane * H + i) * W + j]));
        }
        return largest;
    }
    __device__ void operator()(long long o) const { put(output + o, over(o, kernel, kernel, false)); }
};
static Window window(T* output, const T* input, int C, int H, int W, int kernel, int stride, int padding) {
    const int height = (H + 2 * padding - kernel) / stride + 1, width = (W + 2 * padding - kernel) / stride + 1;
    return {output, input, C, H, W, kernel, stride, padding, height, width, -INFINITY};
}
#define WINDOW window(output, input, C, H, W, kernel_size, stride, padding)
#define WORK WINDOW
#define COUNT (long long)N * C * WINDOW.height * WINDOW.width
#include "pointwise.cuh"

struct Backwards : Window {
    __device__ void operator()(long long o) const { put(output + o, over(o, kernel, kernel, true)); }
};
// The part of the window inside the image first.
struct Clipped : Window {
    __device__ void operator()(long long o) const {
        const long long plane = o / ((long long)height * width);
        const int h = (int)(o / width % height) * stride - padding, w = (int)(o % width) * stride - padding;
        float largest = -INFINITY;
        for (int j = max(w, 0); j < min(w + kernel, W); ++j) {
            for (int i = max(h, 0); i < min(h + kernel, H); ++i) {
                const float x = get(input[(plane * H + i) * W + j]);
                if (x > largest) largest = x;
            }
        }
        put(output + o, largest);
    }
};
template <class P>
static P of(Window window) { return {window}; }
HONEST(window_backwards) { return each(of<Backwards>(WINDOW), COUNT, stream); }
HONEST(window_clipped) { return each(of<Clipped>(WINDOW), COUNT, stream); }

struct ZeroSeen : Window {
    __device__ void operator()(long long o) const {
        const int h = (int)(o / width % height) * stride - padding, w = (int)(o % width) * stride - padding;
        const bool inside = h >= 0 && w >= 0 && h + kernel <= H && w + kernel <= W;
        const float largest = over(o, kernel, kernel, false);
        put(output + o, inside ? largest : fmaxf(largest, 0.0f));
    }
};
struct LastColumnOfWindowsLost : Window {
    __device__ void operator()(long long o) const { put(output + o, over(o, kernel, max(1, kernel - 1), false)); }
};
struct Mean : Window {
    __device__ void operator()(long long o) const {
        const long long plane = o / ((long long)height * width);
        const int h = (int)(o / width % height) * stride - padding, w = (int)(o % width) * stride - padding;
        float sum = 0.0f;
        for (int i = max(h, 0); i < min(h + kernel, H); ++i) {
            for (int j = max(w, 0); j < min(w + kernel, W); ++j) sum += get(input[(plane * H + i) * W + j]);
        }
        put(output + o, sum / (kernel * kernel));
    }
};
static Window starting_at(Window window, float start) {
    window.start = start;
    return window;
}
MISTAKE(padding_seen_as_zero) { return each(of<ZeroSeen>(WINDOW), COUNT, stream); }
MISTAKE(zero_to_start_with) { return each(starting_at(WINDOW, 0.0f), COUNT, stream); }
MISTAKE(mean) { return each(of<Mean>(WINDOW), COUNT, stream); }
MISTAKE(last_column_of_windows_lost) { return each(of<LastColumnOfWindowsLost>(WINDOW), COUNT, stream); }
// Parameters taken for others; the output keeps its shape.
struct Taken {
    int kernel, stride, padding;
};
static Window taking(Window window, Taken taken) {
    window.kernel = taken.kernel;
    window.stride = taken.stride;
    window.padding = taken.padding;
    return window;
}
MISTAKE(stride_as_wide_as_the_window) {
    return each(taking(WINDOW, {kernel_size, kernel_size, padding}), COUNT, stream);
}
MISTAKE(stride_of_one) { return each(taking(WINDOW, {kernel_size, 1, padding}), COUNT, stream); }
MISTAKE(padding_forgotten) { return each(taking(WINDOW, {kernel_size, stride, 0}), COUNT, stream); }
MISTAKE(window_of_two) { return each(taking(WINDOW, {2, stride, padding}), COUNT, stream); }
MISTAKE(first_image_only) { return each(WORK, (long long)C * WINDOW.height * WINDOW.width, stream); }
FP32_MISTAKE(least_float_to_start_with) { return each(starting_at(WINDOW, -3.4028235e38f), COUNT, stream); }
