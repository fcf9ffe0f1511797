"""``format("rocketmq")``: the data source that gives Spark its readers and writers.

Spark creates it in a separate Python process and sends readers and writers on to the executors, so the parts are
imported only where they are needed.
"""

from __future__ import annotations

from typing import ClassVar

from pyspark.sql.datasource import (
    DataSource,
    DataSourceReader,
    DataSourceStreamReader,
    DataSourceStreamWriter,
    DataSourceWriter,
)
from pyspark.sql.types import StructType

from engine.pipeline.source.cluster.errors import Briefly, RocketMQError


class RocketMQDataSource(DataSource):
    """Topics of a RocketMQ cluster as DataFrames, in any session. ``docs/pipeline.md`` lists the options."""

    _takes_filters: ClassVar[bool] = False

    @classmethod
    def name(cls) -> str:
        """Return the name for ``format(...)``."""
        return "rocketmq"

    def schema(self) -> StructType:
        """Return the columns of the option ``columns``; all if it is not given."""
        from engine.pipeline.source.decoding.schema import spark_schema
        from engine.pipeline.source.reader.options import ReadOptions

        with Briefly():
            return spark_schema(ReadOptions.parse(self.options).columns)

    def reader(self, schema: StructType) -> DataSourceReader:
        """Return the reader for ``spark.read``."""
        from engine.pipeline.source.reader.batch_reader import make_reader

        with Briefly():
            return make_reader(schema, self.options, takes_filters=self._takes_filters)

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802 - Spark's name
        """Return the reader for ``spark.readStream``."""
        from engine.pipeline.source.reader.stream_reader import RefusedStreamReader, make_stream_reader

        try:
            return make_stream_reader(schema, self.options)
        except RocketMQError as error:
            return RefusedStreamReader(error)

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceWriter:
        """Return the writer for ``DataFrame.write``."""
        from engine.pipeline.source.writer.writer import make_writer

        with Briefly():
            return make_writer(schema, self.options, overwrite)

    def streamWriter(self, schema: StructType, overwrite: bool) -> DataSourceStreamWriter:  # noqa: N802 - Spark's name
        """Return the writer for ``DataFrame.writeStream``."""
        from engine.pipeline.source.writer.writer import make_stream_writer

        with Briefly():
            return make_stream_writer(schema, self.options, overwrite)


class FilteringDataSource(RocketMQDataSource):
    """The same source for sessions with ``spark.sql.python.filterPushdown.enabled``: its batches take filters."""

    _takes_filters = True
