/* SPDX-License-Identifier: MIT */
/*
 * Buffers: device memory (HBM), host memory that the device reaches, and
 * memory of the program that is pinned for the device.
 */
#ifndef NEURON_BUFFER_H
#define NEURON_BUFFER_H

#include <stdint.h>

#include <neuron/device.h>

#ifdef __cplusplus
extern "C" {
#endif

/** struct neuron_buffer - a buffer; opaque */
struct neuron_buffer;

/**
 * enum neuron_placement - where a buffer is
 */
enum neuron_placement {
	/** @NEURON_HBM: device memory, contiguous in one stack */
	NEURON_HBM = 0,
	/** @NEURON_HOST: host memory that the driver has allocated */
	NEURON_HOST = 1,
	/** @NEURON_USERPTR: memory of the program, pinned */
	NEURON_USERPTR = 2,
	/** @NEURON_PEER: imported: memory of another chip, through the fabric */
	NEURON_PEER = 3,
	/** @NEURON_GROUP: of neuron_group_map(): memory of all members of a group */
	NEURON_GROUP = 4,
};

/** HBM: neuron_buffer_map() must work, else the create fails */
#define NEURON_BUFFER_CPU_VISIBLE	(1u << 0)
/** USERPTR: the device only reads */
#define NEURON_BUFFER_READ_ONLY		(1u << 1)
/** HBM: in the stack nearest to a DMA engine: @stack of the options is its number */
#define NEURON_BUFFER_NEAR_ENGINE	(1u << 2)
/**
 * HBM: to be shared with chips of the same fabric only. Work does not wait for
 * that of other chips on it, unless fences say so; it can be in command lists.
 */
#define NEURON_BUFFER_PEER		(1u << 3)

/**
 * struct neuron_buffer_options - what neuron_buffer_create() may be told
 *
 * Members that are 0 have their usual meaning, except @stack.
 */
struct neuron_buffer_options {
	/** @size: sizeof */
	uint32_t size;
	/** @flags: NEURON_BUFFER_* */
	uint32_t flags;
	/** @stack: HBM: stack, or NEURON_STACK_ANY; else NEURON_STACK_ANY or 0 */
	uint32_t stack;
	/** @reserved: 0 */
	uint32_t reserved;
	/** @alignment: HBM: power of two, bytes; 0: a page */
	uint64_t alignment;
};

/**
 * neuron_buffer_create() - create a buffer, filled with zeros
 * @device: device
 * @placement: NEURON_HBM or NEURON_HOST
 * @size: bytes, not 0
 * @options: options, or NULL: any stack, aligned to a page
 * @buffer: out: the buffer
 *
 * The driver rounds the size up to a page; another process that imports the
 * buffer sees the rounded size.
 *
 * Return: 0; -EINVAL; -ENOSPC no contiguous range of that size is free in HBM;
 * -ENOMEM host memory exhausted; -EDQUOT; -ENODEV.
 */
NEURON_API int neuron_buffer_create(struct neuron_device *device,
				    enum neuron_placement placement, uint64_t size,
				    const struct neuron_buffer_options *options,
				    struct neuron_buffer **buffer);

/**
 * neuron_buffer_create_userptr() - make memory of the program a buffer
 * @device: device
 * @address: first byte, any alignment
 * @size: bytes, not 0
 * @flags: 0, or NEURON_BUFFER_READ_ONLY when the device only reads; the pages
 *	may then be read-only
 * @buffer: out: the buffer
 *
 * The pages stay pinned until the buffer is destroyed and all work on it has
 * ended; unmapping them before is allowed and changes nothing for the device.
 *
 * Return: 0; -EINVAL; -EFAULT the range is not mapped or is not ordinary
 * memory; -ENOMEM, also when RLIMIT_MEMLOCK is too low; -EOPNOTSUPP the driver
 * does not offer it; -ENODEV.
 */
NEURON_API int neuron_buffer_create_userptr(struct neuron_device *device, void *address,
					    uint64_t size, uint32_t flags,
					    struct neuron_buffer **buffer);

/**
 * neuron_buffer_destroy() - give a buffer back
 * @buffer: buffer, or NULL
 *
 * Ends all its mappings. Work that uses it and is queued already still runs
 * to its end; the memory is free after that.
 */
NEURON_API void neuron_buffer_destroy(struct neuron_buffer *buffer);

/**
 * struct neuron_buffer_info - a buffer
 */
struct neuron_buffer_info {
	/** @size: in: sizeof; out: bytes that the library has filled */
	uint32_t size;
	/** @placement: enum neuron_placement */
	uint32_t placement;
	/** @bytes: size of the buffer */
	uint64_t bytes;
	/** @handle: GEM handle in the open file */
	uint32_t handle;
	/** @flags: NEURON_BUFFER_* */
	uint32_t flags;
	/** @stack: HBM stack, NEURON_STACK_ANY if not in HBM */
	uint32_t stack;
	/** @mappable: not 0 if neuron_buffer_map() works */
	uint32_t mappable;
	/**
	 * @content_generation: reset_count of the device when the contents
	 * became defined; if the device has a higher one by now, they are lost
	 */
	uint64_t content_generation;
};

/**
 * neuron_buffer_get_info() - properties of a buffer
 * @buffer: buffer
 * @info: out; the caller sets info->size
 *
 * Return: 0; -EINVAL info->size is too small; -ENODEV.
 */
NEURON_API int neuron_buffer_get_info(struct neuron_buffer *buffer,
				      struct neuron_buffer_info *info);

/**
 * neuron_buffer_get_size() - size of a buffer
 * @buffer: buffer
 *
 * Return: bytes, 0 for NULL.
 */
NEURON_API uint64_t neuron_buffer_get_size(const struct neuron_buffer *buffer);

/**
 * neuron_buffer_map() - map a buffer into the program
 * @buffer: buffer
 * @address: out: address of its first byte
 *
 * Every map wants an unmap; all of them return the same address. HBM is mapped
 * write-combined: write it in order, and expect reads to be slow.
 *
 * Return: 0; -EOPNOTSUPP it cannot be mapped; -ENOMEM; -ENODEV.
 */
NEURON_API int neuron_buffer_map(struct neuron_buffer *buffer, void **address);

/**
 * neuron_buffer_unmap() - end a mapping
 * @buffer: buffer
 *
 * Return: 0; -EINVAL it is not mapped.
 */
NEURON_API int neuron_buffer_unmap(struct neuron_buffer *buffer);

/**
 * neuron_buffer_write() - copy memory of the program into a buffer
 * @buffer: buffer written
 * @offset: first byte in @buffer
 * @data: any memory of the program
 * @size: bytes; 0 does nothing
 *
 * Returns when the bytes are there. Up to 64 KiB go through a host buffer that
 * the library keeps; more is pinned for the time of the call and copied by
 * DMA from where it is. Memory that cannot be pinned (limits, files, device
 * memory) goes through the host buffer in pieces, at about half the speed. Not
 * ordered with work in queues: wait for its fence first.
 *
 * Return: 0; -EINVAL the range is outside the buffer; -EIO; -ECANCELED;
 * -ENOMEM; -ENODEV. After an error the bytes in the range are undefined.
 */
NEURON_API int neuron_buffer_write(struct neuron_buffer *buffer, uint64_t offset,
				   const void *data, uint64_t size);

/**
 * neuron_buffer_read() - copy from a buffer into memory of the program
 * @buffer: buffer read
 * @offset: first byte in @buffer
 * @data: out: any memory of the program
 * @size: bytes; 0 does nothing
 *
 * The same ways as neuron_buffer_write(). Reads and writes use queues of
 * their own and do not wait for each other.
 *
 * Return: as neuron_buffer_write().
 */
NEURON_API int neuron_buffer_read(struct neuron_buffer *buffer, uint64_t offset,
				  void *data, uint64_t size);

/**
 * neuron_buffer_fill() - fill a range of a buffer with a pattern
 * @buffer: buffer written
 * @offset: first byte, a multiple of @pattern_size
 * @size: bytes, a multiple of @pattern_size; 0 does nothing
 * @pattern: pattern in its low bytes, the rest 0
 * @pattern_size: 1, 2, 4 or 8 bytes
 *
 * Returns when it is done.
 *
 * Return: as neuron_buffer_write().
 */
NEURON_API int neuron_buffer_fill(struct neuron_buffer *buffer, uint64_t offset,
				  uint64_t size, uint64_t pattern, uint32_t pattern_size);

/**
 * neuron_buffer_copy() - copy from buffer to buffer of the same device
 * @dst: buffer written
 * @dst_offset: first byte in @dst
 * @src: buffer read; may be @dst if the ranges do not overlap
 * @src_offset: first byte in @src
 * @size: bytes; 0 does nothing
 *
 * Returns when it is done. neuron_queue_copy() does the same on a queue of
 * the program.
 *
 * Return: as neuron_buffer_write(); -EXDEV the buffers are of different
 * devices: import one of them first.
 */
NEURON_API int neuron_buffer_copy(struct neuron_buffer *dst, uint64_t dst_offset,
				  struct neuron_buffer *src, uint64_t src_offset,
				  uint64_t size);

/**
 * neuron_buffer_export() - a file descriptor for another process or device
 * @buffer: buffer
 * @fd: out: dma-buf, close-on-exec; the caller closes it
 *
 * The memory lives until the buffer, all its imports and all descriptors are
 * gone.
 *
 * Return: 0; -EMFILE; -ENOMEM; -ENODEV.
 */
NEURON_API int neuron_buffer_export(struct neuron_buffer *buffer, int *fd);

/**
 * neuron_buffer_import() - a buffer from a file descriptor
 * @device: device that is to use it
 * @fd: dma-buf; stays with the caller
 * @buffer: out: the buffer
 *
 * Return: 0; -EINVAL @fd is no dma-buf; -EOPNOTSUPP the device cannot reach that
 * memory; -ENOMEM; -ENODEV.
 */
NEURON_API int neuron_buffer_import(struct neuron_device *device, int fd,
				    struct neuron_buffer **buffer);

#ifdef __cplusplus
}
#endif

#endif
