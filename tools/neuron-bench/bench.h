/* SPDX-License-Identifier: MIT */
/*
 * Rows of neuron-bench and what they share.
 */
#ifndef BENCH_H
#define BENCH_H

#include <stdbool.h>
#include <stdint.h>

#include <neuron/neuron.h>

#include "report.h"

/**
 * struct bench - what the rows are given
 */
struct bench {
	/** @device_name: device to measure on, as for neuron_device_open_name() */
	const char *device_name;
	/** @module: file of the kernel module, for the probe rows; or NULL */
	const char *module;
	/** @module_args: its parameters, or NULL */
	const char *module_args;
	/** @rounds: of row kill.lost */
	unsigned int rounds;

	/** @device, @queue: open, except for rows that open by themselves */
	struct neuron_device *device;
	struct neuron_queue *queue;
};

/**
 * struct result - what a row has measured
 */
struct result {
	double value;
	/** @spread: of what has been sampled more than once, in the unit of the value */
	struct spread spread;
	/** @against: what to compare with, if the row measures that too; else 0 */
	double against;
};

/**
 * struct row - one figure
 */
struct row {
	const char *name;
	const char *unit;
	/** @against: figure of the model's benchmark to compare with, or NULL */
	const char *against;
	/** @asked: only runs when it is named */
	bool asked;
	/** @opens: opens devices by itself */
	bool opens;
	/** @run: ends the program when it cannot measure */
	void (*run)(struct bench *bench, const struct row *row, struct result *result);
	const char *text;
};

/* rates.c */
void bench_host_to_hbm(struct bench *bench, const struct row *row, struct result *result);
void bench_hbm_to_host(struct bench *bench, const struct row *row, struct result *result);
void bench_write(struct bench *bench, const struct row *row, struct result *result);
void bench_read(struct bench *bench, const struct row *row, struct result *result);
void bench_hbm_to_hbm(struct bench *bench, const struct row *row, struct result *result);

/* latency.c */
void bench_latency(struct bench *bench, const struct row *row, struct result *result);
void bench_instructions(struct bench *bench, const struct row *row, struct result *result);
void bench_list_one(struct bench *bench, const struct row *row, struct result *result);
void bench_list_many(struct bench *bench, const struct row *row, struct result *result);
void bench_batch(struct bench *bench, const struct row *row, struct result *result);

/* probe.c */
void bench_probe(struct bench *bench, const struct row *row, struct result *result);

/* An argument from 1 to @most; ends the program when it is none. */
uint64_t bench_number(const char *what, const char *text, uint64_t most);

/* A simulated machine of many chips takes its time. */
#define COLL_TIMEOUT_NS (600ll * 1000 * 1000 * 1000)

/* coll.c: neuron-bench coll; returns the exit status */
int bench_coll(int argc, char **argv);

/* p2p.c: neuron-bench p2p; returns the exit status */
int bench_p2p(int argc, char **argv);

/* sweep.c: neuron-bench sweep; returns the exit status */
int bench_sweep(int argc, char **argv);

/* kill.c */
void bench_kill(struct bench *bench, const struct row *row, struct result *result);

#endif
