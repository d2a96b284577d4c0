// SPDX-License-Identifier: MIT
/*
 * neuron-monitor: the machine around the devices.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "monitor.h"

#define NUM_TICKS 7

static bool read_ticks(unsigned long long *ticks)
{
	FILE *f = fopen("/proc/stat", "re");
	int got = 0;

	if (f) {
		got = fscanf(f, "cpu %llu %llu %llu %llu %llu %llu %llu", &ticks[0], &ticks[1],
			     &ticks[2], &ticks[3], &ticks[4], &ticks[5], &ticks[6]);
		fclose(f);
	}
	return got == NUM_TICKS;
}

static void take_processors(struct host *host)
{
	double *const percent[NUM_TICKS] = { &host->user, &host->nice, &host->system, &host->idle,
					     &host->iowait, &host->irq, &host->softirq };
	unsigned long long ticks[NUM_TICKS], sum = 0;
	unsigned int i;

	if (!read_ticks(ticks)) {
		snprintf(host->error, sizeof(host->error), "/proc/stat cannot be read");
		return;
	}
	for (i = 0; i < NUM_TICKS; i++)
		if (ticks[i] > host->ticks[i])
			sum += ticks[i] - host->ticks[i];
	for (i = 0; i < NUM_TICKS; i++)
		*percent[i] = sum && ticks[i] > host->ticks[i] ?
			100.0 * (double)(ticks[i] - host->ticks[i]) / (double)sum : 0;
	memcpy(host->ticks, ticks, sizeof(ticks));
}

static void take_memory(struct host *host)
{
	uint64_t available = 0, swap_free = 0, kib;
	FILE *f = fopen("/proc/meminfo", "re");
	char line[128], key[32];

	if (!f) {
		snprintf(host->error, sizeof(host->error), "/proc/meminfo: %s", strerror(errno));
		return;
	}
	while (fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%31[^:]: %" SCNu64, key, &kib) != 2)
			continue;
		if (!strcmp(key, "MemTotal"))
			host->memory_total = kib << 10;
		else if (!strcmp(key, "MemAvailable"))
			available = kib << 10;
		else if (!strcmp(key, "SwapTotal"))
			host->swap_total = kib << 10;
		else if (!strcmp(key, "SwapFree"))
			swap_free = kib << 10;
	}
	fclose(f);
	host->memory_used = host->memory_total - available;
	host->swap_used = host->swap_total - swap_free;
}

void host_take(struct host *host)
{
	host->error[0] = '\0';
	take_processors(host);
	take_memory(host);
}
