/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Model time: a packet occupies its engine for its bytes and a fixed cost; a
 * stack, of any chip, and a direction of a link cannot deliver more than their
 * rates over all that was accounted to them. What a packet takes on its way
 * through the fabric does not hold up its engine. Only the work counts, never
 * when the host got round to it.
 */
#include "qemu/osdep.h"
#include "qemu/host-utils.h"
#include "trainium.h"
#include "udma.h"

uint64_t trn_stack_account(TrnDevice *d, int stack, uint64_t bytes)
{
    d->stack_bytes[stack] += bytes;
    return muldiv64(d->stack_bytes[stack], 1000, d->gen->stack_bytes_per_us);
}

void trn_packet_account(TrnEngine *e, const TrnPacket *p, int src_stack,
                        int dst_stack)
{
    TrnDevice *d = e->dev;
    const TrnGeneration *g = d->gen;
    uint64_t end = e->busy_until_ns + g->packet_ns +
                   DIV_ROUND_UP(p->bytes * 1000ull, g->engine_bytes_per_us);
    int s[2] = { src_stack, dst_stack };
    uint32_t latency = 0;
    unsigned i;

    for (i = 0; i < 2; i++) {
        if (s[i] >= 0) {
            end = MAX(end, trn_stack_account(d, s[i], p->bytes));
        }
    }
    if (unlikely(p->far)) {
        end = MAX(end, trn_fabric_account(e, p, &latency));
    }
    e->busy_until_ns = end;
    d->clock_ns = MAX(d->clock_ns, end + latency);
    e->packets++;
    e->bytes += p->bytes;
}
