// SPDX-License-Identifier: GPL-2.0-only
/*
 * Events: what happens to a device, for those who have subscribed.
 *
 * A subscription is a descriptor of its own with a ring of records, allocated
 * when it is created, so that an event can be posted from anywhere and costs
 * no memory. When the ring is full the oldest record goes, and the next one
 * that is read says how many did.
 */
#include <linux/anon_inodes.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/list.h>
#include <linux/log2.h>
#include <linux/overflow.h>
#include <linux/poll.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include <drm/drm_drv.h>

#include "trainium_queue.h"
#include "trainium_trace.h"

#define TRN_EVENT_TYPES \
	(BIT_ULL(TRAINIUM_EVENT_RESET) | BIT_ULL(TRAINIUM_EVENT_GONE) | \
	 BIT_ULL(TRAINIUM_EVENT_ECC) | BIT_ULL(TRAINIUM_EVENT_HEALTH) | \
	 BIT_ULL(TRAINIUM_EVENT_THERMAL) | BIT_ULL(TRAINIUM_EVENT_FAULT) | \
	 BIT_ULL(TRAINIUM_EVENT_PORT) | BIT_ULL(TRAINIUM_EVENT_PARTITION) | \
	 BIT_ULL(TRAINIUM_EVENT_GROUP) | BIT_ULL(TRAINIUM_EVENT_COUNTER))

#define TRN_EVENTS_CAPACITY	256u	/* the driver's choice */
#define TRN_EVENTS_MAX_CAPACITY	4096u
#define TRN_EVENTS_MAX_RECORD	1024u
#define TRN_FILE_SUBSCRIPTIONS	16u

static_assert(sizeof(struct drm_trainium_event) == 64);
static_assert(sizeof_field(struct drm_trainium_event, reset) <=
	      sizeof_field(struct drm_trainium_event, data));

/* trn_device.events_lock protects all but what is set once. */
struct trn_subscription {
	struct trn_device *tdev;	/* holds the DRM device */
	struct list_head link;		/* trn_device.subscriptions */
	/* Whose it is, NULL once that is closed */
	struct trn_file *file;
	u64 types;
	u32 record_size;
	wait_queue_head_t wait;
	/* Records written and read so far, wrap */
	u32 head, tail;
	/* Not told yet */
	u64 lost;
	u32 capacity;			/* a power of two */
	struct drm_trainium_event ring[] __counted_by(capacity);
};

/**
 * trn_event_types - events that this driver has
 *
 * Return: a bit for each type.
 */
u64 trn_event_types(void)
{
	return TRN_EVENT_TYPES;
}

static void trn_subscription_add(struct trn_subscription *sub,
				 const struct drm_trainium_event *event)
{
	if (sub->head - sub->tail == sub->capacity) {
		sub->lost += sub->ring[sub->tail % sub->capacity].lost + 1;
		sub->tail++;
	}
	sub->ring[sub->head % sub->capacity] = *event;
	sub->head++;
}

static void trn_event_post_locked(struct trn_device *tdev, struct drm_trainium_event *event)
{
	struct trn_subscription *sub;

	lockdep_assert_held(&tdev->events_lock);
	event->size = sizeof(*event);
	event->time_ns = ktime_get_ns();
	event->lost = 0;
	event->seqno = ++tdev->events_posted;
	trace_trn_event(tdev, event);
	list_for_each_entry(sub, &tdev->subscriptions, link) {
		if (!(sub->types & BIT_ULL(event->type)))
			continue;
		trn_subscription_add(sub, event);
		wake_up_interruptible_poll(&sub->wait, EPOLLIN | EPOLLRDNORM);
	}
}

/**
 * trn_event_post - tell of an event
 * @tdev: device
 * @event: type and its member; the rest is filled in
 *
 * For any context; does not allocate memory.
 */
void trn_event_post(struct trn_device *tdev, struct drm_trainium_event *event)
{
	unsigned long flags;

	spin_lock_irqsave(&tdev->events_lock, flags);
	trn_event_post_locked(tdev, event);
	spin_unlock_irqrestore(&tdev->events_lock, flags);
}

/**
 * trn_event_reset - tell of a reset
 * @tdev: device
 * @scope: TRAINIUM_RESET_*
 * @index: core or engine
 * @cause: enum drm_trainium_reset_cause
 * @error: 0 or a negative error
 * @begin: when it began
 */
void trn_event_reset(struct trn_device *tdev, u32 scope, u32 index, u32 cause, int error,
		     ktime_t begin)
{
	struct drm_trainium_event event = {
		.type = TRAINIUM_EVENT_RESET,
		.reset = {
			.scope = scope,
			.index = index,
			.cause = cause,
			.error = -error,
			.duration_ns = ktime_to_ns(ktime_sub(ktime_get(), begin)),
			.reset_count = atomic64_read(&tdev->reset_count),
		},
	};

	trn_event_post(tdev, &event);
}

/**
 * trn_events_gone - the last event of a device
 * @tdev: device that was unplugged
 *
 * Wakes those who wait for another one. A subscription that was made before has
 * this event, and none is made after.
 */
void trn_events_gone(struct trn_device *tdev)
{
	struct drm_trainium_event event = { .type = TRAINIUM_EVENT_GONE };
	struct trn_subscription *sub;

	spin_lock_irq(&tdev->events_lock);
	trn_event_post_locked(tdev, &event);
	/* Pairs with trn_subscription_over(). */
	smp_store_release(&tdev->events_gone, true);
	list_for_each_entry(sub, &tdev->subscriptions, link)
		wake_up_interruptible_poll(&sub->wait, EPOLLHUP | EPOLLERR);
	spin_unlock_irq(&tdev->events_lock);
}

/* Takes the oldest record. */
static bool trn_subscription_take(struct trn_subscription *sub, struct drm_trainium_event *event)
{
	struct trn_device *tdev = sub->tdev;
	bool any;

	spin_lock_irq(&tdev->events_lock);
	any = sub->head != sub->tail;
	if (any) {
		*event = sub->ring[sub->tail % sub->capacity];
		event->lost += sub->lost;
		sub->lost = 0;
		sub->tail++;
	}
	spin_unlock_irq(&tdev->events_lock);
	return any;
}

/* Could not be given to the reader: the next one tells of it. */
static void trn_subscription_lose(struct trn_subscription *sub,
				  const struct drm_trainium_event *event)
{
	spin_lock_irq(&sub->tdev->events_lock);
	sub->lost += event->lost + 1;
	spin_unlock_irq(&sub->tdev->events_lock);
}

static bool trn_subscription_any(struct trn_subscription *sub)
{
	return READ_ONCE(sub->head) != READ_ONCE(sub->tail);
}

static int trn_event_copy(char __user *to, u32 size, const struct drm_trainium_event *event)
{
	u32 known = min_t(u32, size, sizeof(*event));

	if (copy_to_user(to, event, known) || clear_user(to + known, size - known))
		return -EFAULT;
	return 0;
}

/* There will be no more records than there are. */
static bool trn_subscription_over(struct trn_subscription *sub)
{
	/* Pairs with trn_events_gone(). */
	return smp_load_acquire(&sub->tdev->events_gone);
}

static int trn_subscription_wait(struct trn_subscription *sub, struct file *filp)
{
	bool over = trn_subscription_over(sub);

	if (trn_subscription_any(sub))
		return 0;
	if (over)
		return -ENODEV;
	if (filp->f_flags & O_NONBLOCK)
		return -EAGAIN;
	return wait_event_interruptible(sub->wait, trn_subscription_any(sub) ||
					trn_subscription_over(sub));
}

static ssize_t trn_events_read(struct file *filp, char __user *buf, size_t len, loff_t *pos)
{
	struct trn_subscription *sub = filp->private_data;
	struct drm_trainium_event event;
	size_t done = 0;
	int ret;

	if (len < sub->record_size)
		return -EINVAL;
	while (len - done >= sub->record_size) {
		if (!trn_subscription_take(sub, &event)) {
			if (done)
				break;
			ret = trn_subscription_wait(sub, filp);
			if (ret)
				return ret;
			continue;
		}
		ret = trn_event_copy(buf + done, sub->record_size, &event);
		if (ret) {
			trn_subscription_lose(sub, &event);
			return done ?: ret;
		}
		done += sub->record_size;
	}
	return done;
}

static __poll_t trn_events_poll(struct file *filp, poll_table *table)
{
	struct trn_subscription *sub = filp->private_data;
	__poll_t events = 0;

	poll_wait(filp, &sub->wait, table);
	if (trn_subscription_any(sub))
		events |= EPOLLIN | EPOLLRDNORM;
	if (trn_subscription_over(sub))
		events |= EPOLLHUP | EPOLLERR;
	return events;
}

static void trn_subscription_free(struct trn_subscription *sub)
{
	struct trn_device *tdev = sub->tdev;

	spin_lock_irq(&tdev->events_lock);
	list_del(&sub->link);
	if (sub->file)
		sub->file->num_subscriptions--;
	spin_unlock_irq(&tdev->events_lock);
	kvfree(sub);
	drm_dev_put(&tdev->drm);
}

static int trn_events_release(struct inode *inode, struct file *filp)
{
	trn_subscription_free(filp->private_data);
	return 0;
}

static const struct file_operations trn_events_fops = {
	.owner = THIS_MODULE,
	.read = trn_events_read,
	.poll = trn_events_poll,
	.release = trn_events_release,
	.llseek = noop_llseek,
};

/* It is told of events from here on. */
static struct trn_subscription *trn_subscription_new(struct trn_file *tfile,
						     const struct drm_trainium_events *args)
{
	struct trn_device *tdev = tfile->tdev;
	struct trn_subscription *sub;
	int ret = 0;

	sub = kvzalloc(struct_size(sub, ring, args->capacity), GFP_KERNEL_ACCOUNT);
	if (!sub)
		return ERR_PTR(-ENOMEM);
	sub->capacity = args->capacity;
	sub->tdev = tdev;
	sub->file = tfile;
	sub->types = args->types;
	sub->record_size = args->record_size;
	init_waitqueue_head(&sub->wait);

	spin_lock_irq(&tdev->events_lock);
	if (tdev->events_gone) {
		ret = -ENODEV;
	} else if (tfile->num_subscriptions >= TRN_FILE_SUBSCRIPTIONS) {
		ret = -EDQUOT;
	} else {
		tfile->num_subscriptions++;
		list_add_tail(&sub->link, &tdev->subscriptions);
	}
	spin_unlock_irq(&tdev->events_lock);
	if (ret) {
		kvfree(sub);
		return ERR_PTR(ret);
	}
	drm_dev_get(&tdev->drm);
	return sub;
}

/**
 * trn_ioctl_events - DRM_IOCTL_TRAINIUM_EVENTS
 * @drm: device
 * @data: struct drm_trainium_events
 * @file: caller
 */
int trn_ioctl_events(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct drm_trainium_events *args = data;
	struct trn_subscription *sub;
	int flags = O_RDONLY, fd;

	if (!args->types || args->types & ~TRN_EVENT_TYPES ||
	    args->flags & ~TRAINIUM_EVENTS_NONBLOCK || args->fd ||
	    args->capacity > TRN_EVENTS_MAX_CAPACITY)
		return -EINVAL;
	if (args->record_size < sizeof(struct drm_trainium_event) ||
	    args->record_size > TRN_EVENTS_MAX_RECORD || args->record_size % 8)
		return -EINVAL;
	if (args->flags & TRAINIUM_EVENTS_NONBLOCK)
		flags |= O_NONBLOCK;
	args->capacity = roundup_pow_of_two(args->capacity ?: TRN_EVENTS_CAPACITY);

	sub = trn_subscription_new(file->driver_priv, args);
	if (IS_ERR(sub))
		return PTR_ERR(sub);
	fd = anon_inode_getfd("trainium-events", &trn_events_fops, sub, flags | O_CLOEXEC);
	if (fd < 0) {
		trn_subscription_free(sub);
		return fd;
	}
	/* Another thread may have closed it already. */
	args->fd = fd;
	return 0;
}

/**
 * trn_events_file_close - an open file goes, its subscriptions stay
 * @tfile: the file
 */
void trn_events_file_close(struct trn_file *tfile)
{
	struct trn_device *tdev = tfile->tdev;
	struct trn_subscription *sub;

	spin_lock_irq(&tdev->events_lock);
	list_for_each_entry(sub, &tdev->subscriptions, link)
		if (sub->file == tfile)
			sub->file = NULL;
	spin_unlock_irq(&tdev->events_lock);
}

/**
 * trn_events_init - prepare for subscriptions
 * @tdev: new device
 */
void trn_events_init(struct trn_device *tdev)
{
	spin_lock_init(&tdev->events_lock);
	INIT_LIST_HEAD(&tdev->subscriptions);
}
