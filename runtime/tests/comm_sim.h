/* SPDX-License-Identifier: MIT */
/*
 * Plans of all ranks, carried out on plain memory in any order that program
 * order, barriers and semaphores allow.
 */
#ifndef NEURON_TESTS_COMM_SIM_H
#define NEURON_TESTS_COMM_SIM_H

#include "comm/dtype.h"
#include "comm/plan.h"

struct sim {
	struct nrn_collective c;
	uint32_t dtype, combine;
	struct nrn_plan *plan;
	/** @space: where it begins, by rank */
	unsigned char *space[NRN_NUM_SPACES][NRN_MAX_RANKS];
	int64_t *sem;
	uint64_t num_sems;
	uint64_t random;
	/** @steps: carried out */
	uint64_t steps;
};

uint32_t sim_random(struct sim *s, uint32_t below);
/* So many runs of all, some ranks ahead of others. NULL, or what went wrong */
const char *sim_run(struct sim *s, uint32_t runs, void (*begin)(struct sim *s, uint32_t rank),
		    const char *(*end)(struct sim *s, uint32_t rank));
void sim_combine(uint32_t dtype, uint32_t combine, void *dst, const void *src, uint64_t size);

#endif
