// After norms.cuh: the variance as mean of squares minus square of mean, which cancels where the mean is large.

__global__ void squares_minus_square(Groups g) {
    const int group = (int)thread_index();
    if (group >= g.count) return;
    float sum = 0.0f, squares = 0.0f;
    for (int i = 0; i < g.length; ++i) {
        const float x = g.x(group, i);
        sum += x;
        squares += x * x;
    }
    const float mean = sum / g.length, variance = fmaxf(squares / g.length - mean * mean, 0.0f);
    for (int i = 0; i < g.length; ++i) g.put_normalized(group, i, mean, 1.0f / sqrtf(variance + g.eps));
}
FP32_MISTAKE(mean_of_squares_minus_square_of_mean) {
    squares_minus_square<<<blocks_for(GROUP_COUNT, 64), 64, 0, stream>>>(GROUPS);
    return cudaGetLastError();
}
