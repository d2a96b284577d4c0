/* SPDX-License-Identifier: GPL-2.0-only */
/* Tracepoints: a job's way from submit to completion, and what goes wrong. */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM trainium

#if !defined(TRAINIUM_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define TRAINIUM_TRACE_H

#include <linux/tracepoint.h>

struct trn_device;
struct trn_engine;
struct trn_ring;
struct drm_trainium_event;

TRACE_EVENT(trn_submit,
	    TP_PROTO(struct trn_device *tdev, u32 queue, u64 seqno, u32 ops, u64 bytes),
	    TP_ARGS(tdev, queue, seqno, ops, bytes),
	    TP_STRUCT__entry(__string(dev, dev_name(tdev->drm.dev))
			     __field(u64, seqno)
			     __field(u64, bytes)
			     __field(u32, queue)
			     __field(u32, ops)
			     ),
	    TP_fast_assign(__assign_str(dev);
			   __entry->seqno = seqno;
			   __entry->bytes = bytes;
			   __entry->queue = queue;
			   __entry->ops = ops;
			   ),
	    TP_printk("%s queue %u seqno %llu ops %u bytes %llu",
		      __get_str(dev), __entry->queue, __entry->seqno,
		      __entry->ops, __entry->bytes)
);

TRACE_EVENT(trn_complete,
	    TP_PROTO(struct trn_device *tdev, u32 queue, u64 seqno, int error),
	    TP_ARGS(tdev, queue, seqno, error),
	    TP_STRUCT__entry(__string(dev, dev_name(tdev->drm.dev))
			     __field(u64, seqno)
			     __field(u32, queue)
			     __field(int, error)
			     ),
	    TP_fast_assign(__assign_str(dev);
			   __entry->seqno = seqno;
			   __entry->queue = queue;
			   __entry->error = error;
			   ),
	    TP_printk("%s queue %u seqno %llu error %d",
		      __get_str(dev), __entry->queue, __entry->seqno,
		      __entry->error)
);

TRACE_EVENT(trn_doorbell,
	    TP_PROTO(const struct trn_ring *ring, u32 count),
	    TP_ARGS(ring, count),
	    TP_STRUCT__entry(__string(dev, dev_name(ring->engine->tdev->drm.dev))
			     __field(u32, engine)
			     __field(u32, ring)
			     __field(u32, count)
			     __field(u32, head)
			     __field(u64, marker)
			     ),
	    TP_fast_assign(__assign_str(dev);
			   __entry->engine = ring->engine->id;
			   __entry->ring = ring->index;
			   __entry->count = count;
			   __entry->head = ring->head;
			   __entry->marker = ring->last;
			   ),
	    TP_printk("%s engine %u ring %u count %u head %u marker %llu",
		      __get_str(dev), __entry->engine, __entry->ring,
		      __entry->count, __entry->head, __entry->marker)
);

/* What a submit of a list writes: words with a ring id, markers */
TRACE_EVENT(trn_list,
	    TP_PROTO(struct trn_device *tdev, u32 queue, u64 seqno, u32 ids, bool irq),
	    TP_ARGS(tdev, queue, seqno, ids, irq),
	    TP_STRUCT__entry(__string(dev, dev_name(tdev->drm.dev))
			     __field(u64, seqno)
			     __field(u32, queue)
			     __field(u32, ids)
			     __field(bool, irq)
			     ),
	    TP_fast_assign(__assign_str(dev);
			   __entry->seqno = seqno;
			   __entry->queue = queue;
			   __entry->ids = ids;
			   __entry->irq = irq;
			   ),
	    TP_printk("%s queue %u seqno %llu ring ids %u markers 1 irq %d",
		      __get_str(dev), __entry->queue, __entry->seqno,
		      __entry->ids, __entry->irq)
);

/* A wait for a job that had not ended; @bytes are in flight up to it */
TRACE_EVENT(trn_wait,
	    TP_PROTO(struct trn_device *tdev, u32 queue, u64 seqno, u64 bytes, u64 expect,
		     bool slept),
	    TP_ARGS(tdev, queue, seqno, bytes, expect, slept),
	    TP_STRUCT__entry(__string(dev, dev_name(tdev->drm.dev))
			     __field(u64, seqno)
			     __field(u64, bytes)
			     __field(u64, expect)
			     __field(u32, queue)
			     __field(bool, slept)
			     ),
	    TP_fast_assign(__assign_str(dev);
			   __entry->seqno = seqno;
			   __entry->bytes = bytes;
			   __entry->expect = expect;
			   __entry->queue = queue;
			   __entry->slept = slept;
			   ),
	    TP_printk("%s queue %u seqno %llu bytes %llu expected %llu ns slept %d",
		      __get_str(dev), __entry->queue, __entry->seqno,
		      __entry->bytes, __entry->expect, __entry->slept)
);

TRACE_EVENT(trn_irq,
	    TP_PROTO(struct trn_device *tdev, u32 vector, u32 engine, u32 pending),
	    TP_ARGS(tdev, vector, engine, pending),
	    TP_STRUCT__entry(__string(dev, dev_name(tdev->drm.dev))
			     __field(u32, vector)
			     __field(u32, engine)
			     __field(u32, pending)
			     ),
	    TP_fast_assign(__assign_str(dev);
			   __entry->vector = vector;
			   __entry->engine = engine;
			   __entry->pending = pending;
			   ),
	    TP_printk("%s vector %u engine %u pending %#x",
		      __get_str(dev), __entry->vector, __entry->engine,
		      __entry->pending)
);

TRACE_EVENT(trn_engine_error,
	    TP_PROTO(struct trn_device *tdev, u32 engine, u64 cause),
	    TP_ARGS(tdev, engine, cause),
	    TP_STRUCT__entry(__string(dev, dev_name(tdev->drm.dev))
			     __field(u32, engine)
			     __field(u64, cause)
			     ),
	    TP_fast_assign(__assign_str(dev);
			   __entry->engine = engine;
			   __entry->cause = cause;
			   ),
	    TP_printk("%s engine %u m2s %#x s2m %#x",
		      __get_str(dev), __entry->engine, (u32)__entry->cause,
		      (u32)(__entry->cause >> 32))
);

/* @scope: "device", "core" or "engine"; @error: how it ended */
TRACE_EVENT(trn_reset,
	    TP_PROTO(struct trn_device *tdev, const char *scope, u32 index,
		     const char *why, int error),
	    TP_ARGS(tdev, scope, index, why, error),
	    TP_STRUCT__entry(__string(dev, dev_name(tdev->drm.dev))
			     __string(scope, scope)
			     __string(why, why)
			     __field(u32, index)
			     __field(int, error)
			     ),
	    TP_fast_assign(__assign_str(dev);
			   __assign_str(scope);
			   __assign_str(why);
			   __entry->index = index;
			   __entry->error = error;
			   ),
	    TP_printk("%s %s %u: %s, result %d",
		      __get_str(dev), __get_str(scope), __entry->index,
		      __get_str(why), __entry->error)
);

TRACE_EVENT(trn_event,
	    TP_PROTO(struct trn_device *tdev, const struct drm_trainium_event *event),
	    TP_ARGS(tdev, event),
	    TP_STRUCT__entry(__string(dev, dev_name(tdev->drm.dev))
			     __field(u64, seqno)
			     __field(u32, type)
			     __array(u64, data, 4)
			     ),
	    TP_fast_assign(__assign_str(dev);
			   __entry->seqno = event->seqno;
			   __entry->type = event->type;
			   memcpy(__entry->data, event->data, sizeof(event->data));
			   ),
	    TP_printk("%s event %llu type %u data %#llx %#llx %#llx %#llx",
		      __get_str(dev), __entry->seqno, __entry->type,
		      __entry->data[0], __entry->data[1], __entry->data[2],
		      __entry->data[3])
);

#endif

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE trainium_trace
#include <trace/define_trace.h>
