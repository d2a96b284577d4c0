/* SPDX-License-Identifier: MIT */
/*
 * A fabric of simulated chips behind the library, enough for collectives: their
 * memory can be shared between processes, and command lists run whenever the
 * library looks at the time.
 */
#ifndef NEURON_TESTS_COMM_FAKE_H
#define NEURON_TESTS_COMM_FAKE_H

#include <neuron/neuron.h>

#define FAKE_CHIPS 72u
#define FAKE_GRANULE 65536u

struct fake {
	/** @groups: the fabric has them */
	bool groups;
	/** @kind, @server: of the fabric; chips of a server */
	uint32_t kind, server;
	/** @max_descs: of a list */
	uint32_t max_descs;
	/** @hang: this chip's lists do not go on; ~0: none */
	uint32_t hang;
	/** @unplugged: work of this chip fails, and nobody has a way to it; ~0: none */
	uint32_t unplugged;
	/** @lists, @submits, @buffers: that there are; starts so far */
	uint32_t lists, submits, buffers;
};

extern struct fake fake;

void fake_init(void);
struct neuron_device *fake_open(uint32_t chip);

#endif
