/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * memcpy for large copies.
 *
 * The C library writes around the caches only from some hundred MiB on. The
 * model copies as much, but a slice at a time, so it never gets there and
 * every line written is read first. So what is large for a device is written
 * around the caches here, four pages at a time: that keeps more of the memory
 * busy than one stream does.
 */
#include "qemu/osdep.h"
#include "trainium.h"

#ifdef __SSE2__
#include <emmintrin.h>

#define LINE 64
#define PAGE 4096
#define STREAMS 4
#define BLOCK (STREAMS * PAGE)

static inline void stream_line(uint8_t *dst, const uint8_t *src)
{
    __m128i a = _mm_loadu_si128((const __m128i *)src);
    __m128i b = _mm_loadu_si128((const __m128i *)(src + 16));
    __m128i c = _mm_loadu_si128((const __m128i *)(src + 32));
    __m128i d = _mm_loadu_si128((const __m128i *)(src + 48));

    _mm_prefetch((const char *)src + 4 * LINE, _MM_HINT_T0);
    _mm_stream_si128((__m128i *)dst, a);
    _mm_stream_si128((__m128i *)(dst + 16), b);
    _mm_stream_si128((__m128i *)(dst + 32), c);
    _mm_stream_si128((__m128i *)(dst + 48), d);
}

void trn_copy_large(uint8_t *dst, const uint8_t *src, uint64_t len)
{
    uint64_t head = MIN(len, -(uintptr_t)dst & (LINE - 1));
    unsigned at, s;

    memcpy(dst, src, head);
    dst += head;
    src += head;
    len -= head;
    for (; len >= BLOCK; dst += BLOCK, src += BLOCK, len -= BLOCK) {
        for (at = 0; at < PAGE; at += LINE) {
            for (s = 0; s < STREAMS; s++) {
                stream_line(dst + s * PAGE + at, src + s * PAGE + at);
            }
        }
    }
    _mm_sfence();
    memcpy(dst, src, len);
}

#else

void trn_copy_large(uint8_t *dst, const uint8_t *src, uint64_t len)
{
    memcpy(dst, src, len);
}

#endif
