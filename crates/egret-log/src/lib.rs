//! The log of egret's decisions: Parquet, JSON lines, dsjson.
