"""Topics as a source of rows: what `spark.read.format("ottla")` and `spark.readStream.format("ottla")` do.

What decides is pure (`options`, `wanted_offsets`, `limits`, `ranges`, `splits`); `batch_reader` and `stream_reader`
plan on the driver with what `cluster_view` was told by brokers, and `reading` fetches and opens batches on executors.
"""
