package org.example;

import jakarta.ws.rs.GET;
import jakarta.ws.rs.Path;

/** A page whose text changes while the application runs. */
@Path("/hello")
public class Hello {
    @GET
    public String hello() {
        return "hello 0";
    }

    @GET
    @Path("fail")
    public String fail() {
        throw new IllegalStateException("on purpose");
    }
}
