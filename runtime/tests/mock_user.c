// SPDX-License-Identifier: MIT
/* User queues of the simulated driver: how they tell what they have done */
#include <unistd.h>

#include "mock_internal.h"

void mock_completion_take(struct mock_file *file, struct mock_queue *queue,
			  const struct drm_trainium_completion *c)
{
	if (!c->handle)
		return;
	queue->word = mock_bo(file, c->handle);
	queue->word->refs++;
	queue->word_offset = c->offset;
	queue->eventfd = c->eventfd;
}

void mock_completion_tell(struct mock_queue *queue, uint64_t value)
{
	uint64_t one = 1;

	if (!queue->word)
		return;
	__atomic_store_n((uint64_t *)((char *)queue->word->memory + queue->word_offset), value,
			 __ATOMIC_RELEASE);
	if (queue->eventfd)
		assert_int_equal(write(queue->eventfd, &one, sizeof(one)), sizeof(one));
}
