/* SPDX-License-Identifier: MIT */
/*
 * What the parts of neuron-monitor share.
 */
#ifndef MONITOR_H
#define MONITOR_H

#include <json-c/json.h>

#include "sample.h"

/** enum group - bits of what is reported */
enum group {
	GROUP_CORES = 1 << 0,		/* neuroncore_counters, of a runtime */
	GROUP_MEMORY = 1 << 1,		/* memory_used */
	GROUP_VCPU = 1 << 2,		/* vcpu_usage */
	GROUP_HOST_MEMORY = 1 << 3,	/* memory_info */
	GROUP_HARDWARE = 1 << 4,	/* neuron_hw_counters */
	GROUP_LINKS = 1 << 5,		/* neuron_link_counters */
	GROUP_FABRIC = 1 << 6,		/* fabric_info */
	GROUP_ALL = (1 << 7) - 1,
};

/**
 * struct host - processors and memory of this machine
 */
struct host {
	/** @user, @nice, @system, @idle, @iowait, @irq, @softirq: percent since the last look */
	double user, nice, system, idle, iowait, irq, softirq;
	uint64_t memory_total, memory_used, swap_total, swap_used;
	/** @error: why there is nothing; "" if there is */
	char error[160];
	/** @ticks: as /proc/stat had them */
	unsigned long long ticks[7];
};

/* Looks at /proc. */
void host_take(struct host *host);

/* The report, to be freed. @period: of the groups, seconds. */
struct json_object *report_json(const struct sample *sample, const struct host *host,
				unsigned int groups, double period);
/* Bit of the group of that name; 0 if there is none. */
unsigned int group_by_name(const char *name);

/* Text for Prometheus out of a sample, to be freed. */
char *metrics_text(const struct sample *sample, size_t *size);

/* Serves metrics_text() on ADDRESS:PORT, :PORT or PORT; takes the first text over. */
struct exporter;
/* Ends the program when the address is none. */
void exporter_check(const char *address);
struct exporter *exporter_start(const char *address, char *text, size_t size);
/* What is served from now on; it takes @text. */
void exporter_publish(struct exporter *exporter, char *text, size_t size);
void exporter_stop(struct exporter *exporter);

#endif
