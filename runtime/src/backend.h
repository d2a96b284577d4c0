/* SPDX-License-Identifier: MIT */
/*
 * What the library asks of the operating system, in one table. Unit tests put
 * a simulated device in its place (tests/mock.c); everything else uses the
 * table of backend_drm.c.
 */
#ifndef NEURON_BACKEND_H
#define NEURON_BACKEND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/**
 * struct nrn_backend - calls to the operating system
 *
 * Calls return 0 or a negative errno value, like the library itself.
 */
struct nrn_backend {
	/** @sys_dir: "/sys" */
	const char *sys_dir;
	/** @dev_dir: "/dev/accel" */
	const char *dev_dir;

	/** @open: returns a descriptor */
	int (*open)(const char *path);
	int (*dup)(int fd);
	void (*close)(int fd);
	/** @node: path of the node that @fd is open on */
	int (*node)(int fd, char *path, size_t size);
	int (*version)(int fd, char *name, size_t size, uint32_t version[3]);
	int (*ioctl)(int fd, unsigned long request, void *arg);
	int (*mmap)(int fd, uint64_t offset, uint64_t size, void **address);
	void (*munmap)(void *address, uint64_t size);
	int64_t (*now)(void);

	int (*buffer_close)(int fd, uint32_t handle);
	int (*buffer_export)(int fd, uint32_t handle, int *out);
	int (*buffer_import)(int fd, int in, uint32_t *handle);

	int (*syncobj_create)(int fd, uint32_t *handle);
	void (*syncobj_destroy)(int fd, uint32_t handle);
	/** @syncobj_wait: @deadline of CLOCK_MONOTONIC; -ETIME */
	int (*syncobj_wait)(int fd, uint32_t handle, int64_t deadline);
	int (*syncobj_export)(int fd, uint32_t handle, int *out);
	int (*syncobj_export_sync_file)(int fd, uint32_t handle, int *out);
	int (*syncobj_import_sync_file)(int fd, uint32_t handle, int in);
	/** @sync_file_status: 1 ended, 0 not yet, negative error of the work */
	int (*sync_file_status)(int fd);
};

extern const struct nrn_backend nrn_backend_drm;

/** The table in use; only tests change it. */
extern const struct nrn_backend *nrn_backend;

#endif
