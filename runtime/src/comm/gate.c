// SPDX-License-Identifier: MIT
/*
 * A collective that is timed: all channels of all ranks begin at the same
 * modelled time, which the host with its doorbells could not bring about, and
 * the first channel notes when they do and when the last one of its rank ends.
 */
#include "build.h"

/* Index of a channel's semaphore for the others of its rank; rounds come behind */
#define OTHERS 0u

static void channel_signal(struct nrn_builder *b, uint32_t channel)
{
	nrn_signal_at(b, b->rank,
		      nrn_sem_index(b->c->num_ranks, channel, NRN_SEM_GATE, OTHERS));
}

/* Everybody has heard of all; by the second pass within one way of each other. */
static void meet_ranks(struct nrn_builder *b)
{
	uint32_t n = b->c->num_ranks, pass, round, far;
	uint64_t at;

	if (b->c->group) {
		nrn_signal_at(b, NRN_ALL, nrn_sem_index(n, 0, NRN_SEM_GATE, 1));
		nrn_wait(b, NRN_SEM_GATE, 1, n);
		return;
	}
	for (pass = 0; pass < 2; pass++) {
		for (round = 1, far = 1; far < n; round++, far *= 2) {
			at = nrn_sem_index(n, 0, NRN_SEM_GATE, round);
			nrn_signal_at(b, (b->rank + far) % n, at);
			nrn_wait(b, NRN_SEM_GATE, round, 1);
		}
	}
}

void nrn_gate_begin(struct nrn_builder *b)
{
	uint32_t i;

	if (b->channel) {
		channel_signal(b, 0);
		nrn_wait(b, NRN_SEM_GATE, OTHERS, 1);
		return;
	}
	if (b->c->channels > 1)
		nrn_wait(b, NRN_SEM_GATE, OTHERS, b->c->channels - 1);
	meet_ranks(b);
	nrn_stamp(b, NRN_STAMP_BEGIN);
	for (i = 1; i < b->c->channels; i++)
		channel_signal(b, i);
}

void nrn_gate_end(struct nrn_builder *b)
{
	if (b->channel) {
		channel_signal(b, 0);
		return;
	}
	if (b->c->channels > 1)
		nrn_wait(b, NRN_SEM_GATE, OTHERS, b->c->channels - 1);
	nrn_stamp(b, NRN_STAMP_END);
}
