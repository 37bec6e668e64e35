"""The gRPC surface: servicers, conversion, listeners, drain."""
