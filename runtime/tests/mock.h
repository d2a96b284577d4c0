/* SPDX-License-Identifier: MIT */
/*
 * A simulated driver behind the library: it keeps the rules of the uapi
 * (unknown flags, padding, ranges, foreign handles), moves bytes, and fails
 * where a test asks for it.
 */
#ifndef NEURON_TESTS_MOCK_H
#define NEURON_TESTS_MOCK_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <drm/trainium_accel.h>
#include <neuron/neuron.h>

#include "backend.h"

#define MOCK_STACKS 4
#define MOCK_STACK_SIZE (64ull << 20)
#define MOCK_JOB_LOG 256

/**
 * struct mock_job_log - what a submit asked for
 */
struct mock_job_log {
	uint32_t queue;
	uint32_t ops;
	uint64_t bytes;
	uint32_t in_syncs;
	uint32_t out_syncs;
	uint32_t flags;
	uint32_t first_op_flags;
	int64_t deadline;
};

/**
 * struct mock - switches and counters of the simulated driver
 */
struct mock {
	/* switches */
	uint64_t features;
	uint32_t uapi_major;
	const char *driver;
	struct drm_trainium_query_limits limits;
	int open_error;
	/** @hold: jobs wait for mock_run() instead of running at once */
	bool hold;
	/** @fail_request: this ioctl fails with @fail_error, @fail_count times after @fail_skip */
	unsigned long fail_request;
	int fail_error;
	unsigned int fail_count;
	unsigned int fail_skip;
	/** @pending: so many waiting submits say PENDING although the job ran */
	unsigned int pending;
	/** @job_error: the next job fails with it, for @job_reason */
	int job_error;
	uint32_t job_reason;
	/** @userptr_error: pinning fails with it */
	int userptr_error;
	/** @export_error: export of a fence fails with it */
	int export_error;
	/** @no_import: buffers of others cannot be reached: it fails with this */
	int no_import;
	uint64_t reset_count;
	uint64_t event_types;
	/** @busy: engines, cores and ports do more from one query of the device to the next */
	bool busy;
	/** @looks: queries of the device, if @busy */
	uint64_t looks;
	/** @health: word of the firmware */
	uint32_t health;
	/** @repair: state of HBM repair */
	uint32_t repair;
	/** @aborted: engine 3 is stopped by an error */
	bool aborted;
	/** @out_of_service: engine 5 is */
	bool out_of_service;
	/** @torus: the fabric is one, not NVLink */
	bool torus;
	/** @path: status of the way to the other chip */
	uint32_t path;
	/** @port_state: of the only port */
	uint32_t port_state;
	/** @port_reason: why */
	uint32_t port_reason;
	/** @port_error: control of a port fails with it */
	int port_error;
	/** @ctl: the last control of a port */
	struct drm_trainium_fabric_ctl ctl;

	/** @events_fd: what is written here is read from the last subscription */
	int events_fd;
	/** @time: of the next timestamp, minus one */
	uint64_t time;

	/* counters */
	unsigned int creates[3];
	unsigned int infos;
	uint32_t userptr_flags;
	unsigned int waits;
	unsigned int maps, unmaps;
	unsigned int syncobj_creates;
	unsigned int jobs;
	struct mock_job_log job_log[MOCK_JOB_LOG];
};

extern struct mock mock;

/* cmocka setup and teardown: a machine with two devices, accel0 and accel1. */
int mock_setup(void **state);
/* Fails when a file, buffer, queue, syncobj or mapping is left. */
int mock_teardown(void **state);
/* Only the fake sysfs and the nodes. */
void mock_remove_files(void);

/* Runs so many of the jobs that are held; all for ~0u. */
void mock_run(unsigned int count);

/* A device in the fake sysfs, and its node. */
void mock_add_device(unsigned int accel, const char *pci, const char *driver, bool node);
void mock_remove_devices(void);
void mock_load_module(bool loaded);

#define assert_sentence(part) assert_non_null(strstr_or_print(neuron_last_error(), part))
const char *strstr_or_print(const char *text, const char *part);

#endif
