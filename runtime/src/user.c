// SPDX-License-Identifier: MIT
/*
 * User queues and user lists: work that may wait for semaphores. Its end is a
 * number that the device writes, which is looked at before anybody sleeps.
 */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "internal.h"

/* How long the number is looked at before the thread sleeps */
#define SPIN_NS		50000
/*
 * Threads that wait for one queue share its eventfd, and the one that reads it
 * takes it from the others: they look by themselves after this time.
 */
#define SLICE_MS	5

_Static_assert(NEURON_SEQNO_ENDED == TRAINIUM_COMPLETION_ENDED, "the last number");

int nrn_completion_create(struct neuron_device *device, struct nrn_completion **out)
{
	struct nrn_completion *c = calloc(1, sizeof(*c));
	void *word = NULL;
	int ret;

	if (!c)
		return nrn_fail(-ENOMEM, "%s: out of memory", device->label);
	c->eventfd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (c->eventfd < 0) {
		ret = -errno;
		free(c);
		return nrn_fail(ret, "%s: no eventfd: %s", device->label, neuron_strerror(ret));
	}
	ret = neuron_buffer_create(device, NEURON_HOST, sizeof(uint64_t), NULL, &c->buffer);
	if (!ret)
		ret = neuron_buffer_map(c->buffer, &word);
	if (ret) {
		nrn_completion_free(c);
		return ret;
	}
	c->word = word;
	*out = c;
	return 0;
}

void nrn_completion_free(struct nrn_completion *c)
{
	if (!c)
		return;
	if (c->word)
		neuron_buffer_unmap(c->buffer);
	neuron_buffer_destroy(c->buffer);
	close(c->eventfd);
	free(c);
}

void nrn_completion_tell(const struct nrn_completion *c, struct drm_trainium_completion *request)
{
	request->handle = c->buffer->handle;
	request->flags = TRAINIUM_COMPLETION_EVENTFD;
	request->eventfd = c->eventfd;
}

/* Whether @queue is of the user class; says so when it is not. */
static int check_user(const struct neuron_queue *queue, const char *call)
{
	if (!queue)
		return nrn_fail(-EINVAL, "%s: no queue (NULL)", call);
	if (!queue->completion)
		return nrn_fail(-EINVAL, "%s: queue %u is not of the user class: its work has fences",
				queue->device->label, queue->id);
	return 0;
}

static uint64_t reached(const struct neuron_queue *queue)
{
	return __atomic_load_n(queue->completion->word, __ATOMIC_ACQUIRE);
}

int neuron_queue_post(struct neuron_queue *queue, const struct neuron_op *ops, uint32_t op_count,
		      uint64_t *seqno)
{
	int ret = check_user(queue, __func__);

	return ret ? ret : nrn_queue_post(queue, ops, op_count, seqno);
}

int neuron_queue_reached(struct neuron_queue *queue, uint64_t *seqno)
{
	int ret = check_user(queue, __func__);

	if (ret)
		return ret;
	if (!seqno)
		return nrn_fail(-EINVAL, "%s: no place for the number (NULL)", __func__);
	*seqno = reached(queue);
	return 0;
}

int neuron_queue_get_eventfd(struct neuron_queue *queue)
{
	int ret = check_user(queue, __func__);

	return ret ? ret : queue->completion->eventfd;
}

/* Sleeps until the driver says that something has ended, or for a moment. */
static void sleep_on(const struct neuron_queue *queue, int64_t left_ns)
{
	struct pollfd fd = { .fd = queue->completion->eventfd, .events = POLLIN };
	int64_t ms = left_ns / 1000000 + 1;
	uint64_t count;

	if (poll(&fd, 1, ms < SLICE_MS ? (int)ms : SLICE_MS) == 1 &&
	    read(fd.fd, &count, sizeof(count)) < 0)
		return;
}

int neuron_queue_wait_for(struct neuron_queue *queue, uint64_t seqno, int64_t timeout_ns)
{
	int64_t deadline, spin_end, now;
	int ret = check_user(queue, __func__);

	if (ret)
		return ret;
	now = nrn_backend->now();
	deadline = nrn_deadline_after(timeout_ns);
	spin_end = now + SPIN_NS;
	while (reached(queue) < seqno) {
		now = nrn_backend->now();
		if (now >= deadline)
			return nrn_fail(-ETIME,
					"%s: queue %u: job %" PRIu64
					" has not ended in the time given: %" PRIu64 " has",
					queue->device->label, queue->id, seqno, reached(queue));
		if (now >= spin_end)
			sleep_on(queue, deadline - now);
	}
	if (reached(queue) == NEURON_SEQNO_ENDED)
		return nrn_queue_lost(queue);
	return 0;
}

int neuron_list_create_user(struct neuron_device *device, uint32_t stack,
			    const struct neuron_op *ops, uint32_t op_count,
			    struct neuron_list **list)
{
	if (!device || !list)
		return nrn_fail(-EINVAL, "%s: no %s (NULL)", __func__,
				device ? "place for the list" : "device");
	if (!(device->features & NEURON_FEATURE_QUEUE_USER))
		return nrn_fail(-EOPNOTSUPP, "%s: the driver offers no lists of the user class",
				device->label);
	return nrn_list_create(device, stack, ops, op_count, true, list);
}
